// Draws the scene into the SVG: boxes, edges, pills and labels, and what one API method uses.

// --- Drawing --------------------------------------------------------------------------------------
const SVG = "http://www.w3.org/2000/svg";
const MOST_LABELS = 500; // placing them takes the square of that; nobody could read more at once
function element(name, attributes, parent, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

function draw() {
  layOut();
  const world = $("world");
  document.querySelector("#picture defs").replaceChildren();
  world.replaceChildren();
  const under = element("g", {}, world), edges = element("g", {}, world), labels = element("g", { class: "labels" }, world);
  for (const box of [...boxes.values()].sort((a, b) => depthOf(a) - depthOf(b))) drawBox(box, under);
  for (const piece of pieces) drawEdge(piece, edges);
  if (state.labels && pieces.length < MOST_LABELS) drawLabels(labels);
  drawPills(world);
  shade();
  place();
}
const depthOf = (box) => (box.scope ? box.scope.depth + (box.method ? 1 : 0) : -1);

function drawBox(box, parent) {
  const group = element("g", { class: "box", "data-id": box.id, transform: `translate(${box.x} ${box.y})` }, parent);
  const { w, h, scope } = box;
  if (box.api !== undefined) {
    element("rect", { class: "shape oval", width: w, height: h, rx: Math.min(h / 2, 22) }, group);
    box.lines.forEach((line, n) => element("text", { class: n ? "note" : "name", x: w / 2,
      y: h / 2 + 4 + 15 * (n - (box.lines.length - 1) / 2), "text-anchor": "middle" }, group, clip(line)));
    return;
  }
  const place = scope.devices, look = { fill: fill(place, box.items ? 1 : 0), stroke: colour(place[0], 2) };
  if (box.method) {
    element("rect", { class: "shape pill", width: w, height: h, rx: 12, stroke: look.stroke }, group);
    element("text", { class: "kind", x: w / 2, y: 16, "text-anchor": "middle" }, group, box.method);
    return;
  }
  if (scope.methods.length && !scope.methods.some((method) => method[2])) group.classList.add("dead");
  element("rect", { class: "shape", width: w, height: h, rx: 9, ...look }, group);
  const left = scope.children.length ? 32 : 12, middle = box.items ? left : w / 2 + (left - 12) / 2;
  const anchor = { "text-anchor": box.items ? "start" : "middle" };
  element("text", { class: "name", x: middle, y: 18, ...anchor }, group, box.items ? scope.name : box.lines[0]);
  element("text", { class: "kind", x: box.items ? left : w / 2, y: 32, ...anchor }, group, box.items ? scope.kind : box.lines[1]);
  if (!box.items && box.lines[2]) element("text", { class: "note", x: w / 2, y: 46, ...anchor }, group, box.lines[2]);
  if (scope.children.length) {
    element("circle", { class: "fold", cx: 18, cy: 14, r: 7.5 }, group);
    element("path", { class: "sign", d: box.items ? "M14 14h8" : "M14 14h8M18 10v8" }, group);
  }
}

// Curves that leave and arrive upright; straight through the layers that they pass.
function curve(points) {
  let d = `M${points[0].map(round)}`;
  for (let n = 1; n < points.length; n++) {
    const [[x, y], [u, v]] = [points[n - 1], points[n]];
    d += Math.abs(x - u) < 0.5 ? `L${round(u)},${round(v)}`
      : `C${round(x)},${round((y + v) / 2)} ${round(u)},${round((y + v) / 2)} ${round(u)},${round(v)}`;
  }
  return d;
}
const round = (x) => Math.round(x * 10) / 10;

function drawEdge(piece, parent) {
  const kinds = new Set(piece.edges.map((edge) => edge.k));
  const kind = kinds.has(0) ? "" : kinds.has(1) ? "handed" : "shared";
  const group = element("g", { class: `edge ${kind} ${piece.edges.length > 3 ? "thick" : ""}` }, parent);
  const points = piece.points, [x, y] = points.at(-1), up = y < points.at(-2)[1];
  const isEnd = !isPort(piece.to), stop = isEnd && kind !== "shared" ? [x, y + (up ? 5 : -5)] : [x, y];
  const d = curve([...points.slice(0, -1), stop]);
  element("path", { class: "line", d }, group);
  if (isEnd && kind !== "shared") element("path", { class: "tip", d: `M${round(x - 4)} ${round(y + (up ? 8 : -8))}h8L${round(x)} ${round(y)}z` }, group);
  element("path", { class: "hit", d }, group);
  piece.group = group;
  group.addEventListener("mouseenter", (event) => light(piece, event));
  group.addEventListener("mousemove", moveTip);
  group.addEventListener("mouseleave", unlight);
  group.addEventListener("click", (event) => (event.stopPropagation(), choose({ piece })));
  piece.texts = [];
}

// Each label stands beside its edge, as near to the head as it covers no box, no other label and as
// few other edges as possible; if there is no room, pointing at the edge still tells.
function drawLabels(parent) {
  const labels = [];
  const dots = pieces.map((piece) => dotted(piece.group.querySelector(".line")));
  const meets = ([x, y, w, h], [a, b, c, d]) => x < a + c && a < x + w && y < b + d && b < y + h;
  pieces.forEach((piece, n) => {
    const lines = piece.level ? label(piece) : [];
    if (!lines.length) return;
    const outer = boxes.get(piece.level), h = 11 * lines.length;
    const taken = [...labels, ...outer.items.map((b) => [b.x - 1, b.y - 1, b.w + 2, b.h + 2]), ...headOf(outer)];
    const w = wordsWidth(lines);
    // Where another edge runs alongside, a label could be either's.
    const besides = dots[n].map(([x, y]) => dots.filter((list, m) => m !== n && list.some(([a, b]) => Math.hypot(a - x, b - y) < 8)).length);
    let best = null;
    for (const [k, [x, y]] of dots[n].entries()) {
      for (const left of [x + 5, x - 5 - w]) {
        const room = [left, y - h / 2, w, h];
        const isOutside = left < outer.x + 3 || left + w > outer.x + outer.w - 3;
        if (isOutside || taken.some((other) => meets(room, other))) continue;
        const covered = dots.reduce((sum, list) => sum + list.some(([a, b]) => meets(room, [a - 1, b - 1, 2, 2])), 0);
        const cost = (covered + besides[k]) * 30 + k + (left < x ? 0.5 : 0);
        if (!best || cost < best.cost) best = { room, cost };
      }
    }
    if (!best) return;
    labels.push(best.room);
    piece.texts = lines.map((line, k) => element("text", { x: best.room[0] + 1, y: best.room[1] + 9 + 11 * k,
      class: k || !hasMethod(piece) ? "" : "method" }, parent, line));
  });
}
// The title and the pills of an unfolded scope.
function headOf(box) {
  const wide = Math.max(textWidth(box.scope.name, "640 12.5px"), textWidth(box.scope.kind, "10.5px")) + 36;
  return [[box.x, box.y, wide, HEAD - 4], ...pillsOf(box).map(({ x, w }) => [x, box.y + PILL[0], w, PILL[1] - PILL[0]])];
}
function pillsOf(box) {
  return Object.entries(box.ports ?? {}).filter(([id]) => box.scope && id.startsWith("in:") && id.length > 3).map(([id, at]) => {
    const name = id.slice(3), w = textWidth(name, "10.5px") + 16;
    return { name, w, x: box.x + at - w / 2 };
  });
}
// Points along a line, from its head on.
function dotted(line) {
  const length = line.getTotalLength(), list = [];
  for (let at = length - 12; at > 4; at -= 6) {
    const { x, y } = line.getPointAtLength(at);
    list.push([x, y]);
  }
  return list;
}

const wordsWidth = (lines) => Math.max(...lines.map((line) => textWidth(line, "640 10px"))) + 2;
// Room for it beside the head.
function labelWidth(piece) {
  const lines = state.labels ? label(piece) : [];
  return lines.length ? wordsWidth(lines) + 10 : 0;
}
// The API method by which an edge enters the box it ends at, and the spaces that it carries.
function label(piece) {
  if (isPort(piece.to) || piece.edges[0].k === 2) return [];
  const methods = [...new Set(piece.edges.map((edge) => enters(edge, piece.to)).filter(Boolean))];
  const spaces = [...new Set(piece.edges.map((edge) => (edge.k ? "" : edge.l)).filter(Boolean))];
  const few = (list, most) => list.slice(0, most).join(", ") + (list.length > most ? ` +${list.length - most}` : "");
  return [hasMethod(piece) ? clip(few(methods, 2), 24) : "", clip(few(spaces, 1), 24)].filter(Boolean);
}
// A function says its name itself, and so does a pill.
const hasMethod = (piece) => !piece.to.startsWith("f") && !(isScope(piece.to) && isOpen(scopeOf(piece.to))) && piece.edges.some((edge) => enters(edge, piece.to));
function enters(edge, id) {
  if (state.mode === "calls") return edge.k === 2 || (isScope(id) && scopeOf(id).n !== edge.b[0]) ? "" : edge.b[1];
  return edge.b[2] === "f" ? methodAt(stacks[edge.y], edge.b, id) : "";
}
function leaves(edge, id) {
  if (state.mode === "calls") return "";
  if (edge.a[2] === "f" && isScope(id)) return methodAt(stacks[edge.x], edge.a, id);
  return edge.a[2] === "v" ? "variables" : "";
}
const isScope = (id) => /^s\d/.test(id);
const scopeOf = (id) => scopes[Number(id.slice(1))];
// The outermost API method of the calls that stay inside of a box.
function methodAt(stack, end, id) {
  if (!isScope(id)) return end[1];
  const outer = scopeOf(id);
  let found = end[1];
  for (let n = stack.length - 1; n >= 0 && within(scopes[stack[n][0]], outer); n--) found = stack[n][1];
  return found;
}

function drawPills(world) {
  for (const box of boxes.values()) {
    const pills = pillsOf(box), y = box.y + PILL[0];
    for (const { name, x, w } of pills) {
      const group = element("g", { class: "pillgroup", "data-pill": `${box.id}|in:${name}` }, world);
      element("rect", { class: "pill", x, y, width: w, height: 18, rx: 9 }, group);
      element("text", { class: "pilltext", x: x + w / 2, y: y + 13, "text-anchor": "middle" }, group, name);
    }
    if (state.mode === "calls") drawSelfCalls(box, new Map(pills.map((pill) => [pill.name, pill.x + pill.w / 2])), world);
  }
}
// Calls of a component's own API methods: arcs from pill to pill.
function drawSelfCalls(box, at, world) {
  for (const { a, b, i } of data.calls) {
    if (state.api >= 0 && !i.includes(state.api)) continue;
    if (!box.scope || a[0] !== box.scope.n || b[0] !== a[0] || !at.has(a[1]) || !at.has(b[1])) continue;
    const [x, u, y] = [at.get(a[1]) + 6, at.get(b[1]) - 6, box.y + PILL[1]];
    const group = element("g", { class: "edge" }, world);
    element("path", { class: "line", d: `M${x} ${y}C${x} ${y + 20} ${u} ${y + 20} ${u} ${y + 5}` }, group);
    element("path", { class: "tip", d: `M${u - 4} ${y + 8}h8L${u} ${y}z` }, group);
  }
}

// --- One API method -------------------------------------------------------------------------------
function shade() {
  const isOn = (edge) => state.api < 0 || edge.i.includes(state.api);
  const used = new Set();
  for (const piece of pieces) {
    const on = piece.edges.some(isOn);
    piece.group.classList.toggle("off", !on);
    for (const text of piece.texts) text.classList.toggle("off", !on);
    if (on) [piece.from, piece.to, piece.level, `${piece.level}|${piece.from}`].forEach((id) => used.add(id));
  }
  for (const pill of document.querySelectorAll(".pillgroup")) pill.classList.toggle("off", state.api >= 0 && !used.has(pill.dataset.pill));
  for (const call of data.calls) if (isOn(call)) for (const id of chainOf([...call.b, "v"])) used.add(id);
  for (const box of boxes.values()) {
    const group = document.querySelector(`.box[data-id="${CSS.escape(box.id)}"]`);
    const on = state.api < 0 || (box.api === undefined ? used.has(box.id) : box.api === state.api);
    group.classList.toggle("off", !on);
    group.classList.toggle("chosen", state.chosen?.id === box.id);
  }
}
