// The figures of all groups at the point of the x axis under the pointer.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const chart = document.querySelector(".chart");
  const hover = document.getElementById("hover");
  const cursor = document.getElementById("cursor");
  const [left, top, right, bottom] = data.plot;
  const format = (value) => value.toLocaleString("en", { maximumSignificantDigits: 4 });

  const nearest = (xs, x) => {
    let best = 0;
    for (let i = 1; i < xs.length; i++) if (Math.abs(xs[i] - x) < Math.abs(xs[best] - x)) best = i;
    return best;
  };

  const row = (group, x) => {
    const line = document.createElement("div");
    if (!group.x.length || x > group.x[group.x.length - 1] * 1.02) return null;
    const i = nearest(group.x, x);
    const spread = group.n > 1 ? ` ± ${format(group.std[i])}` : "";
    const value = document.createElement("b");
    value.textContent = format(group.mean[i]) + spread;
    line.innerHTML = `<svg width="12" height="9"><rect class="${group.role}" width="12" height="9"/></svg> `;
    line.append(value, `  ${group.label}`);
    return line;
  };

  chart.addEventListener("pointermove", (event) => {
    const box = chart.getBoundingClientRect();
    const zoom = box.width / data.width;
    const across = (event.clientX - box.left) / zoom;
    const inside = across >= left && across <= right;
    hover.hidden = cursor.hidden = !inside;
    if (!inside) return;
    const [first, last] = data.x_range;
    const pointed = first + ((across - left) / (right - left)) * (last - first);
    const places = data.groups.flatMap((group) => group.x);
    const x = places.length ? places[nearest(places, pointed)] : pointed;
    const here = left + ((x - first) / (last - first)) * (right - left);
    const head = document.createElement("div");
    head.textContent = `${x.toLocaleString("en")} ${data.x_label}`;
    hover.replaceChildren(head, ...data.groups.map((group) => row(group, x)).filter(Boolean));
    cursor.style.cssText += `;left:${here * zoom}px;top:${top * zoom}px;height:${(bottom - top) * zoom}px`;
    const flips = here > (left + right) / 2;
    hover.style.left = flips ? "" : `${here * zoom + 14}px`;
    hover.style.right = flips ? `${box.width - here * zoom + 14}px` : "";
    hover.style.top = `${(top + 12) * zoom}px`;
  });
  chart.addEventListener("pointerleave", () => (hover.hidden = cursor.hidden = true));
})();
