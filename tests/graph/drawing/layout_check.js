// Lays random levels out and tells what is wrong with them; runs behind layout.js.
let seed = 1;
const random = (n) => ((seed = (seed * 48271) % 2147483647), seed % n);
const problems = [];
for (let round = 0; round < 60; round++) {
  const items = Array.from({ length: 2 + random(14) }, (_, n) => ({ id: "s" + n, w: 60 + random(200), h: 30 + random(90) }));
  const names = ["in:a", "in:b", "out:x", ...items.map((item) => item.id)];
  const pieces = [];
  for (let n = random(24); n > 0; n--) {
    const from = names[random(names.length)], to = names[random(names.length)];
    if (from === to || from.startsWith("out:") || to.startsWith("in:")) continue;
    if (isPort(from) && isPort(to)) continue;
    pieces.push({ level: "", from, to, arrive: "", depart: "", edges: [] });
  }
  const laid = layLevel(items, pieces, { head: 40, title: 90, pillWidth: () => 50, labelWidth: () => 30 });
  for (const a of items) {
    if (!(a.x >= 0 && a.y >= 40 && a.x + a.w <= laid.w && a.y + a.h <= laid.h)) problems.push(["outside", round, a.id]);
    for (const b of items) {
      if (a.id < b.id && a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h) problems.push(["overlap", round, a.id, b.id]);
    }
  }
  for (const piece of pieces) {
    for (const [x, y] of piece.points) if (!(x >= 0 && x <= laid.w && y >= 0 && y <= laid.h)) problems.push(["away", round]);
    for (const end of [[piece.from, piece.points[0]], [piece.to, piece.points.at(-1)]]) {
      const item = items.find((it) => it.id === end[0]);
      if (item && !(end[1][0] >= item.x && end[1][0] <= item.x + item.w)) problems.push(["beside", round]);
    }
  }
}
// An edge between scopes is cut at each border; all edges of a method share a place.
const chains = { a: ["s0", "s1"], b: ["s0", "s2", "s3"], c: ["s0", "s2", "s3"], d: ["s0"] };
const cut = cutEdges(
  [{ from: "a", to: "b" }, { from: "a", to: "c" }, { from: "d", to: "b", via: "m" }, { from: "b", to: "c" }],
  (end) => chains[end], (edge, id) => "in_" + id, (edge, id) => "out_" + id);
console.log(JSON.stringify({ problems, cut: cut.map((p) => [p.level, p.from, p.to, p.edges.length]) }));
