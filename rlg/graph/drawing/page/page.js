// Listens: pointing, choosing, folding, searching, panning and zooming, and the bar.

// --- Pointing -------------------------------------------------------------------------------------
function light(piece, event) {
  const ids = new Set(piece.edges.map((edge) => edge.id));
  for (const other of pieces) {
    const hot = other.edges.some((edge) => ids.has(edge.id));
    other.group.classList.toggle("hot", hot);
    for (const text of other.texts) text.classList.toggle("hot", hot);
  }
  const tip = $("tip");
  tip.replaceChildren(...edgeLines(piece).slice(0, 7));
  tip.style.display = "block";
  moveTip(event);
}
function unlight() {
  for (const other of pieces) [other.group, ...other.texts].forEach((part) => part.classList.remove("hot"));
  $("tip").style.display = "none";
}
function moveTip(event) {
  const tip = $("tip"), room = document.querySelector("main").getBoundingClientRect();
  tip.style.left = `${Math.min(event.clientX - room.left + 14, room.width - tip.offsetWidth - 8)}px`;
  tip.style.top = `${Math.min(event.clientY - room.top + 14, room.height - tip.offsetHeight - 8)}px`;
}

function node(name, content, attributes = {}) {
  const made = document.createElement(name);
  Object.assign(made, attributes);
  made.append(...[content].flat());
  return made;
}
// Lines like "agent/memory.sample → agent/policy.q_values", with the spaces.
function edgeLines(piece) {
  const lines = new Map();
  for (const edge of piece.edges) {
    const words = [ending(edge, "from", piece), ending(edge, "to", piece)].join(" → ");
    const names = edge.i.map((n) => apis[n].name);
    if (!lines.has(words)) lines.set(words, { spaces: new Set(), names: new Set() });
    if (edge.t) lines.get(words).spaces.add(edge.t);
    names.forEach((name) => lines.get(words).names.add(name));
  }
  return [...lines].map(([words, { spaces, names }]) => node("div", [
    node("b", words), node("br", []), node("code", [...spaces].join("; ")),
    ...(names.size ? [node("br", []), node("small", `in ${[...names].join(", ")}`)] : []),
  ]));
}
function ending(edge, side, piece) {
  const end = edge[side], scope = scopes[end[0]];
  if (end[2] === "i") return `${end[1]}()`;
  if (end[2] === "o") return `result of ${end[1]}()`;
  if (end[2] === "v" && state.mode === "flow") return edge.k === 2 ? scope.path : `variables of ${scope.path}`;
  if (state.mode === "calls") return `${scope.path}.${end[1]}`;
  const box = side === "from" ? piece.from : piece.to;
  const at = isPort(box) || !box.startsWith("s") ? scope : scopes[Number(box.slice(1))];
  return `${at.path}.${methodAt(stacks[side === "from" ? edge.x : edge.y], end, at.id)}`;
}

// --- The panel ------------------------------------------------------------------------------------
function choose(what) {
  state.chosen = what;
  const panel = $("panel");
  panel.classList.toggle("on", Boolean(what));
  if (what) {
    const close = node("button", "×", { id: "close", onclick: () => choose(null) });
    const lines = what.piece ? [node("h2", "Edge"), ...edgeLines(what.piece)]
      : what.api !== undefined ? apiPanel(what.api) : scopePanel(scopes[what.scope]);
    panel.replaceChildren(close, ...lines);
  }
  shade();
}
const code = (text) => node("code", text);
const link = (scope, text) => node("a", text ?? scope.path, { onclick: () => reveal(scope) });
const section = (title, list) => (list.length ? [node("h3", title), ...list] : []);
const rows = (list) => node("table", list.map((cells) => node("tr", cells.map((cell) => node("td", cell)))));

function scopePanel(scope) {
  const held = scope.variables.map(([name, space, numbers, isTrainable, device]) =>
    [code(`${name} ${space}`), `${numbers.toLocaleString("en")} ${isTrainable ? "trainable" : "state"}${scope.devices.length > 1 ? `, ${devices[device]}` : ""}`]);
  const called = data.calls.filter((call) => call.b[0] === scope.n)
    .map((call) => node("p", [code(call.b[1]), " from ", call.a[0] < 0 ? "outside" : link(scopes[call.a[0]], `${scopes[call.a[0]].path}.${call.a[1]}`)]));
  const calls = data.calls.filter((call) => call.a[0] === scope.n)
    .map((call) => node("p", [code(call.a[1]), " calls ", link(scopes[call.b[0]], `${scopes[call.b[0]].path}.${call.b[1]}`)]));
  return [
    node("h2", scope.path), node("p", [node("b", scope.kind), ` on ${scope.devices.map((d) => devices[d]).join(", ")}`]),
    ...(scope.doc ? [node("p", scope.doc)] : []),
    ...section("API methods", scope.methods.map(([, signature, used]) => node("p", [code(signature), used ? "" : " (not called)"]))),
    ...section(scope.shares >= 0 ? `Variables, in the shared scope ${scopes[scope.shares].path}` : "Variables", held.length ? [rows(held)] : []),
    ...section("Graph functions", scope.functions.map(({ name, doc }) => node("p", [code(name), doc ? ` ${doc}` : ""]))),
    ...section("Called", called), ...section("Calls", calls),
    ...section("Inside", scope.children.map((child) => node("p", [link(child, child.name), ` ${child.kind}`]))),
  ];
}
function apiPanel(n) {
  const api = apis[n];
  return [
    node("h2", `${api.name}()`), ...(api.doc ? [node("p", api.doc)] : []), ...section("Call", [code(api.signature)]),
    ...section("Returns", api.returns.map((space) => node("p", code(space)))),
    ...section("Plan", data.plans[api.name] ? [node("pre", data.plans[api.name])] : []),
  ];
}

function reveal(scope) {
  for (let at = scopes[scope.parent]; at; at = scopes[at.parent]) state.open.add(at.n);
  draw();
  choose({ id: scope.id, scope: scope.n });
  const box = boxes.get(scope.id), room = $("picture").getBoundingClientRect();
  view.k = Math.max(view.k, 0.8);
  view.x = (room.width - ($("panel").offsetWidth || 0)) / 2 - (box.x + box.w / 2) * view.k;
  view.y = room.height / 2 - (box.y + Math.min(box.h, room.height) / 2) * view.k;
  place();
}

function fold(scope) {
  if (!scope.children.length) return;
  const before = boxes.get(scope.id), [x, y] = [before.x, before.y];
  state.open.has(scope.n) ? state.open.delete(scope.n) : state.open.add(scope.n);
  draw();
  // The corner that was clicked stays where it is.
  const after = boxes.get(scope.id);
  view.x += (x - after.x) * view.k;
  view.y += (y - after.y) * view.k;
  place();
}
function openTo(depth) {
  state.depth = Math.max(0, Math.min(deepest, depth));
  state.open = new Set(scopes.filter((scope) => scope.depth < state.depth).map((scope) => scope.n));
  draw();
  fit();
}

// --- Pan and zoom ---------------------------------------------------------------------------------
function place() {
  $("world").setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.k})`);
}
function fit() {
  const room = $("picture").getBoundingClientRect(), margin = 18;
  const across = room.width - ($("panel").offsetWidth || 0) - 2 * margin;
  view.k = Math.min(1.6, across / size.w, (room.height - 2 * margin - 34) / size.h);
  view.x = margin + (across - size.w * view.k) / 2;
  view.y = margin + Math.max(0, (room.height - 34 - 2 * margin - size.h * view.k) / 2);
  place();
}
$("picture").addEventListener("wheel", (event) => {
  event.preventDefault();
  const room = $("picture").getBoundingClientRect(), x = event.clientX - room.left, y = event.clientY - room.top;
  const k = Math.min(6, Math.max(0.03, view.k * Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015))));
  Object.assign(view, { x: x - ((x - view.x) * k) / view.k, y: y - ((y - view.y) * k) / view.k, k });
  place();
}, { passive: false });

let drag = null;
$("picture").addEventListener("pointerdown", (event) => (drag = { x: event.clientX, y: event.clientY, moved: false }));
window.addEventListener("pointermove", (event) => {
  if (!drag) return;
  const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
  if (!drag.moved && Math.hypot(dx, dy) < 4) return;
  Object.assign(drag, { x: event.clientX, y: event.clientY, moved: true });
  $("picture").classList.add("moving");
  [view.x, view.y] = [view.x + dx, view.y + dy];
  place();
});
window.addEventListener("pointerup", () => {
  $("picture").classList.remove("moving");
  setTimeout(() => (drag = null));
});
$("picture").addEventListener("click", (event) => {
  if (drag?.moved) return;
  const group = event.target.closest(".box"), box = group && boxes.get(group.dataset.id);
  if (!box) choose(null);
  else if (event.target.classList.contains("fold") || event.detail === 2) box.scope && !box.method && fold(box.scope);
  else choose(box.api !== undefined ? { id: box.id, api: box.api } : { id: box.id, scope: box.scope.n });
});

// --- The bar --------------------------------------------------------------------------------------
function setTheme(theme) {
  state.theme = theme;
  document.documentElement.dataset.theme = theme;
  legend();
  draw();
}
function legend() {
  const swatch = (device, n) => `<span><i style="background:${colour(n, 0)};border-color:${colour(n, 2)}"></i>${escapeText(device)}</span>`;
  const stripes = `repeating-linear-gradient(45deg,${colour(0, 0)} 0 4px,${colour(Math.min(1, devices.length - 1), 0)} 4px 8px)`;
  const several = devices.length > 1 ? `<span><i style="background:${stripes};border-color:${colour(0, 2)}"></i>several devices</span>` : "";
  const line = (dash, text) => `<span><svg width="26" height="10"><path d="M0 5h26" stroke="currentColor" stroke-width="1.6" stroke-dasharray="${dash}"/></svg>${text}</span>`;
  const kinds = new Set(data.flows.map((flow) => flow.k));
  const lines = [state.mode === "flow" ? line("", "values") : line("", "API calls"), state.mode === "flow" && kinds.has(1) ? line("6 3", "variables") : "", kinds.has(2) ? line("2 3", "shared variables") : ""];
  $("legend").innerHTML = devices.map(swatch).join("") + several + lines.join("");
}
const escapeText = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

function setMode(mode) {
  state.mode = mode;
  for (const button of $("mode").children) button.classList.toggle("on", button.dataset.mode === mode);
  legend();
  draw();
}
function setApi(n) {
  state.api = n;
  $("api").value = n;
  shade();
  choose(n >= 0 ? { api: n } : null);
}
function saveSvg() {
  const copy = $("picture").cloneNode(true), style = getComputedStyle(document.documentElement);
  copy.querySelectorAll(".hit").forEach((path) => path.remove());
  copy.querySelector("#world").removeAttribute("transform");
  const css = $("look").textContent.replace(/var\((--\w+)\)/g, (_, name) => style.getPropertyValue(name).trim());
  copy.insertAdjacentHTML("afterbegin", `<style>${css}</style><rect width="100%" height="100%" fill="${style.getPropertyValue("--page")}"/>`);
  for (const [key, value] of Object.entries({ width: size.w, height: size.h, viewBox: `0 0 ${size.w} ${size.h}` })) copy.setAttribute(key, value);
  const text = new XMLSerializer().serializeToString(copy);
  node("a", [], { href: URL.createObjectURL(new Blob([text], { type: "image/svg+xml" })), download: "graph.svg" }).click();
}

function search(words) {
  const wanted = words.trim().toLowerCase(), found = $("found");
  const hits = (scope) => [scope.path, scope.kind, ...scope.methods.map((m) => m[0]), ...scope.variables.map((v) => v[0])]
    .find((text) => text.toLowerCase().includes(wanted));
  const list = wanted ? scopes.map((scope) => [scope, hits(scope)]).filter(([, hit]) => hit).slice(0, 12) : [];
  found.replaceChildren(...list.map(([scope, hit], n) => node("li", [scope.path, node("small", hit === scope.path ? ` ${scope.kind}` : ` ${hit}`)],
    { className: n ? "" : "on", onclick: () => (reveal(scope), found.replaceChildren()) })));
}

$("api").append(new Option("all", -1), ...apis.map((api, n) => new Option(api.name, n)));
$("api").onchange = (event) => setApi(Number(event.target.value));
$("mode").onclick = (event) => event.target.dataset.mode && (setMode(event.target.dataset.mode), fit());
$("labels").onchange = (event) => ((state.labels = event.target.checked), draw());
$("less").onclick = () => openTo(state.depth - 1);
$("more").onclick = () => openTo(state.depth + 1);
$("fit").onclick = fit;
$("save").onclick = saveSvg;
$("theme").onclick = () => setTheme(state.theme === "light" ? "dark" : "light");
$("search").oninput = (event) => search(event.target.value);
$("search").onkeydown = (event) => {
  if (event.key === "Enter") $("found").querySelector("li")?.click();
  if (event.key === "Escape") (event.target.value = ""), search(""), event.target.blur();
};
window.addEventListener("keydown", (event) => {
  if (event.target.tagName === "INPUT" || event.ctrlKey || event.metaKey) return;
  const keys = { "/": () => $("search").focus(), "+": $("more").onclick, "-": $("less").onclick, 0: fit, Escape: () => choose(null) };
  if (keys[event.key]) event.preventDefault(), keys[event.key]();
});
window.addEventListener("resize", fit);

// A link can say what to show: graph.html#depth=3&api=update&edges=calls&theme=dark&open=agent/loss
const wish = new URLSearchParams(location.hash.slice(1));
state.theme = wish.get("theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
document.documentElement.dataset.theme = state.theme;
state.labels = $("labels").checked = wish.get("labels") !== "0";
state.mode = wish.get("edges") === "calls" ? "calls" : "flow";
state.depth = Number(wish.get("depth") ?? data.depth);
state.open = new Set(scopes.filter((s) => s.depth < state.depth || wish.getAll("open").includes(s.path)).map((s) => s.n));
setMode(state.mode);
const wanted = apis.findIndex((api) => api.name === wish.get("api"));
if (wanted >= 0) setApi(wanted);
const chosen = scopes.find((scope) => scope.path === wish.get("select"));
chosen ? reveal(chosen) : fit();
