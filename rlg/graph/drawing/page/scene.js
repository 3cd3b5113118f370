// What is visible: which boxes are unfolded, which edges there are between them, where they stand and
// in which colours.
const data = JSON.parse(document.getElementById("data").textContent);
const { scopes, devices, apis, stacks } = data;
const $ = (id) => document.getElementById(id);
const state = { open: new Set(), mode: "flow", api: -1, labels: true, chosen: null, theme: "light" };
const view = { x: 0, y: 0, k: 1 };
let boxes = new Map(), pieces = [], size = { w: 0, h: 0 };

scopes.forEach((scope, n) => Object.assign(scope, { n, id: `s${n}`, children: [], functions: [], apis: new Set() }));
for (const scope of scopes) {
  if (scope.parent >= 0) scopes[scope.parent].children.push(scope);
  scope.depth = scope.parent >= 0 ? scopes[scope.parent].depth + 1 : 0;
}
for (const [n, name, doc] of data.functions) scopes[n].functions.push({ name, doc });
const deepest = Math.max(...scopes.map((scope) => scope.depth));
const within = (scope, outer) => {
  while (scope && scope !== outer) scope = scopes[scope.parent];
  return Boolean(scope);
};

// --- What is visible ------------------------------------------------------------------------------
const isOpen = (scope) => state.open.has(scope.n) && scope.children.length > 0;

// The boxes around a scope, outermost first, down to the first folded one.
function scopeChain(scope) {
  const line = [];
  for (let at = scope; at; at = scopes[at.parent]) line.unshift(at);
  const folded = line.findIndex((at) => !isOpen(at));
  return line.slice(0, folded < 0 ? line.length : folded + 1);
}

// An end of a flow is a function, variables (a whole scope), or an API method's inputs and outputs.
function chainOf([n, name, kind]) {
  if (kind === "i" || kind === "o") return [`${kind}${apiNumber(n, name)}`];
  const chain = scopeChain(scopes[n]), ids = chain.map((scope) => scope.id);
  const last = chain[chain.length - 1];
  return kind === "f" && isOpen(last) ? [...ids, `f${n}:${name}`] : ids;
}

function apiNumber(n, name) {
  const found = apis.findIndex((api) => api.name === name || api.name === `${scopes[n].path}/${name}`);
  return found;
}

function visibleEdges() {
  if (state.mode === "flow") {
    return data.flows.map((flow, id) => ({ ...flow, id, from: flow.a, to: flow.b }));
  }
  const shares = data.flows.filter((flow) => flow.k === 2);
  const calls = data.calls.map((call) => {
    const [n, method] = call.b;
    const from = call.a[0] < 0 ? [n, method, "i"] : [call.a[0], call.a[1], "v"];
    return { ...call, k: 0, x: 0, y: 0, from, to: [n, method, "v"], via: call.a[1] };
  });
  return [...calls, ...shares.map((flow) => ({ ...flow, from: flow.a, to: flow.b }))]
    .map((edge, id) => ({ ...edge, id }));
}

// --- Layout ---------------------------------------------------------------------------------------
const pen = document.createElement("canvas").getContext("2d");
function textWidth(text, font) {
  pen.font = `${font} system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif`;
  return pen.measureText(text).width;
}
const clip = (text, most = 34) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

function note(scope) {
  let trainable = 0, count = 0;
  for (const inner of scopes) {
    if (!within(inner, scope) || inner.shares >= 0) continue;
    for (const [, , numbers, isTrainable] of inner.variables) {
      count++;
      if (isTrainable) trainable += numbers;
    }
  }
  if (trainable) return `${compact(trainable)} parameters`;
  return count ? `${count} variable${count > 1 ? "s" : ""}` : "";
}
const compact = (n) => (n >= 1e6 ? `${(n / 1e6).toFixed(2)} M` : n >= 1e4 ? `${(n / 1e3).toFixed(1)} k` : n.toLocaleString("en"));

function closedBox(scope) {
  const lines = [clip(scope.name), clip(scope.kind), scope.note ??= note(scope)];
  const fold = scope.children.length ? 22 : 0;
  const wide = [textWidth(lines[0], "640 12.5px") + fold, textWidth(lines[1], "10.5px"), textWidth(lines[2], "10.5px")];
  return { id: scope.id, scope, lines, w: Math.max(76, ...wide) + 24, h: lines[2] ? 54 : 40 };
}

// Wide enough for its edges to stand apart, with labels between them.
function roomFor(box, pieces) {
  const count = (end) => pieces.filter((piece) => piece[end] === box.id).length;
  const most = Math.max(count("from"), count("to"));
  return { ...box, w: Math.max(box.w, 40 + (state.labels ? 48 : 24) * (most - 1)) };
}

function functionBox(scope, { name, doc }) {
  return { id: `f${scope.n}:${name}`, scope, method: name, doc, lines: [name], w: textWidth(name, "11px") + 26, h: 24 };
}

function oval(kind, n) {
  const api = apis[n], lines = [api.name, ...(kind === "i" ? api.inputs : api.outputs)];
  const wide = lines.map((line, k) => textWidth(clip(line), k ? "10.5px" : "640 12.5px"));
  return { id: `${kind}${n}`, api: n, lines, kind, w: Math.max(...wide, 30) + 34, h: 15 * lines.length + 14 };
}

function layOut() {
  const edges = visibleEdges();
  pieces = cutEdges(edges, chainOf, enters, leaves);
  boxes = new Map();
  const byLevel = grouped(pieces);
  const used = new Set(pieces.flatMap((p) => [p.from, p.to]));
  const build = (scope) => {
    if (!isOpen(scope)) return keep(roomFor(closedBox(scope), pieces));
    const own = scope.functions.map((fn) => functionBox(scope, fn)).filter((box) => used.has(box.id));
    const items = [...scope.children.map(build), ...own.map(keep)];
    const level = byLevel.get(scope.id) ?? [];
    const pillWidth = (id) => (id.startsWith("in:") && id.length > 3 ? textWidth(id.slice(3), "10.5px") + 18 : 12);
    const title = Math.max(textWidth(scope.name, "640 12.5px"), textWidth(scope.kind, "10.5px")) + 40;
    return keep({ id: scope.id, scope, items, ...layLevel(items, level, { head: HEAD, title, pillWidth, labelWidth }) });
  };
  const keep = (box) => (boxes.set(box.id, box), box);
  const roots = scopes.filter((scope) => scope.parent < 0).map(build);
  const ovals = apis.flatMap((api, n) => [
    ...(used.has(`i${n}`) ? [oval("i", n)] : []),
    ...(used.has(`o${n}`) && state.mode === "flow" && api.outputs.length ? [oval("o", n)] : []),
  ]).map(keep);
  pieces = pieces.filter((p) => p.level || (boxes.has(p.from) && boxes.has(p.to)));
  const items = [...sortedOvals(ovals, roots, "i"), ...roots, ...sortedOvals(ovals, roots, "o")];
  size = layLevel(items, pieces.filter((p) => !p.level), { head: 4, title: 0, pillWidth: () => 12, labelWidth: () => 1 });
  const settle = (list, x, y) => {
    for (const box of list) {
      [box.x, box.y] = [box.x + x, box.y + y];
      for (const piece of byLevel.get(box.id) ?? []) piece.points = piece.points.map(([a, b]) => [a + box.x, b + box.y]);
      if (box.items) settle(box.items, box.x, box.y);
    }
  };
  settle(items, 0, 0);
}

// In the order of the places at the roots that they lead to.
function sortedOvals(ovals, roots, kind) {
  const ports = Object.assign({}, ...roots.map((root) => root.ports ?? {}));
  const at = (oval) => ports[(kind === "i" ? "in:" : "out:") + apis[oval.api].name.split("/").at(-1)] ?? 0;
  return ovals.filter((oval) => oval.kind === kind).sort((a, b) => at(a) - at(b));
}

function grouped(list) {
  const found = new Map();
  for (const piece of list) found.set(piece.level, [...(found.get(piece.level) ?? []), piece]);
  return found;
}

// --- Colours --------------------------------------------------------------------------------------
function mix(one, other, share) {
  const part = (text, n) => parseInt(text.slice(1 + 2 * n, 3 + 2 * n), 16);
  const hex = [0, 1, 2].map((n) => Math.round(part(one, n) * share + part(other, n) * (1 - share)));
  return "#" + hex.map((n) => n.toString(16).padStart(2, "0")).join("");
}
// Shade 0 fills components, 1 scopes around others, 2 is the border.
function colour(device, shade) {
  const line = data.colours[device][2];
  if (state.theme === "light") return data.colours[device][shade];
  return shade === 2 ? mix(line, "#ffffff", 0.75) : mix(line, "#12181f", shade ? 0.1 : 0.38);
}
function fill(list, shade) {
  if (list.length === 1) return colour(list[0], shade);
  const id = `mix-${list.join("-")}-${shade}`, defs = document.querySelector("#picture defs");
  if (!defs.querySelector(`#${id}`)) {
    const step = shade ? 17 : 11, stripes = list.map((d, n) =>
      `<rect x="${n * step}" width="${step}" height="${step}" fill="${colour(d, shade)}"/>`);
    defs.insertAdjacentHTML("beforeend", `<pattern id="${id}" width="${step * list.length}" height="${step}"
      patternUnits="userSpaceOnUse" patternTransform="rotate(45)">${stripes.join("")}</pattern>`);
  }
  return `url(#${id})`;
}
