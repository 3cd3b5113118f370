// Places the unfolded part of a graph: boxes in boxes, each level in layers from top to bottom.
//
// An edge between components in different scopes is cut into one piece per level: up through the
// bottoms of the scopes around its source, across, and down through the tops of those around its
// target. So every scope is laid out by itself, from inside out (Sugiyama, 1981, in four steps:
// layers, places for edges that pass by, order, coordinates).
"use strict";

const PAD = 14, HEAD = 40, PILL = [11, 29], GAP = 26, LAYER = 30, LABEL = 24, WIDEST = 1500;

// --- Edges to pieces ------------------------------------------------------------------------------
// `chain(end)` lists the visible boxes around an end, outermost first, the end's own box last.
// `enters` and `leaves` name the API method by which an edge comes into an unfolded box and goes out
// of it: all edges of a method share one place there. Pieces that run between the same two places of
// a level are one, and remember all their edges.
function cutEdges(edges, chain, enters, leaves) {
  const pieces = new Map();
  const add = (level, from, to, edge, arrive = "") => {
    const key = `${level}|${from}|${to}|${arrive}`;
    if (!pieces.has(key)) pieces.set(key, { level, from, to, arrive, depart: leaves(edge, from), edges: [] });
    pieces.get(key).edges.push(edge);
  };
  for (const edge of edges) {
    const up = chain(edge.from), down = chain(edge.to);
    let p = 0;
    while (p < up.length && p < down.length && up[p] === down[p]) p++;
    if (p === up.length && p === down.length) continue; // folded into one box
    for (let k = up.length - 1; k > p; k--) add(up[k - 1], up[k], "out:" + leaves(edge, up[k - 1]), edge);
    // Where one end is a scope around the other, the edge starts or stops at that scope's own border.
    const source = p < up.length ? up[p] : "in:" + (edge.via ?? "");
    const target = p < down.length ? down[p] : "out:" + leaves(edge, up[p - 1]);
    add(p ? up[p - 1] : "", source, target, edge, p < down.length ? enters(edge, down[p]) : "");
    for (let k = p + 1; k < down.length; k++) {
      add(down[k - 1], "in:" + enters(edge, down[k - 1]), down[k], edge, enters(edge, down[k]));
    }
  }
  return [...pieces.values()];
}

const isPort = (id) => id.startsWith("in:") || id.startsWith("out:");

// --- One level ------------------------------------------------------------------------------------
// `items` have id, w and h. Afterwards they have x and y, relative to the level's corner, and the
// pieces have points; gives width, height, and where edges come in and go out. They come in at the
// pills of API methods, "in:method", of the width that `pillWidth` says; `labelWidth` says what room
// a piece needs beside its head.
function layLevel(items, pieces, { head, title, pillWidth, labelWidth }) {
  const nodes = new Map(items.map((item) => [item.id, { ...item, item }]));
  const inner = pieces.filter((p) => !isPort(p.from) && !isPort(p.to));
  const ranks = rankItems(items, inner);
  wrapLayers(items, ranks);
  const last = Math.max(0, ...ranks.values());
  for (const piece of pieces) {
    for (const end of [piece.from, piece.to]) {
      if (isPort(end)) nodes.set(end, { id: end, w: pillWidth(end), h: 0, port: true });
    }
  }
  for (const node of nodes.values()) {
    node.rank = node.port ? (node.id.startsWith("in:") ? 0 : last + 1) : ranks.get(node.id);
  }
  const layers = Array.from({ length: last + 2 }, () => []);
  for (const node of nodes.values()) layers[node.rank].push(node);
  const links = [];
  for (const piece of pieces) piece.way = passBy(piece, nodes, layers, links);
  orderLayers(layers, links);
  placeAcross(layers, links);
  return placeDown(layers, pieces, head, title, labelWidth);
}

// Longest paths from the top, without the edges that close a cycle.
function rankItems(items, pieces) {
  const next = new Map(items.map((item) => [item.id, []]));
  for (const piece of pieces) next.get(piece.from).push(piece);
  const state = new Map(), order = [];
  const visit = (first) => {
    const stack = [[first, 0]];
    state.set(first, 1);
    while (stack.length) {
      const top = stack[stack.length - 1], [id, n] = top;
      if (n === next.get(id).length) {
        stack.pop();
        state.set(id, 2);
        order.unshift(id);
        continue;
      }
      top[1]++;
      const piece = next.get(id)[n], other = piece.to;
      piece.back = state.get(other) === 1;
      if (!state.has(other)) {
        state.set(other, 1);
        stack.push([other, 0]);
      }
    }
  };
  const entered = new Set(pieces.map((piece) => piece.to));
  for (const item of items) if (!entered.has(item.id) && !state.has(item.id)) visit(item.id);
  for (const item of items) if (!state.has(item.id)) visit(item.id);
  const ranks = new Map(items.map((item) => [item.id, 1]));
  const ahead = (id) => next.get(id).filter((piece) => !piece.back).map((piece) => piece.to);
  for (const id of order) {
    for (const other of ahead(id)) ranks.set(other, Math.max(ranks.get(other), ranks.get(id) + 1));
  }
  // What nothing in this level leads to stands right above what it leads to.
  for (const id of [...order].reverse()) {
    const below = ahead(id).map((other) => ranks.get(other));
    if (below.length && !entered.has(id)) ranks.set(id, Math.min(...below) - 1);
  }
  return ranks;
}

// Layers that are too wide go on in another one below; in the given order.
function wrapLayers(items, ranks) {
  const area = items.reduce((sum, item) => sum + (item.w + GAP) * (item.h + LAYER + LABEL), 0);
  const limit = Math.min(WIDEST, Math.max(640, 1.7 * Math.sqrt(area)));
  const rows = new Map();
  for (const item of items) {
    const layer = rows.get(ranks.get(item.id)) ?? [];
    rows.set(ranks.get(item.id), layer);
    layer.push(item);
  }
  let rank = 0;
  for (const key of [...rows.keys()].sort((a, b) => a - b)) {
    let x = Infinity;
    for (const item of rows.get(key)) {
      if (x + item.w > limit) {
        rank++;
        x = 0;
      }
      ranks.set(item.id, rank);
      x += item.w + GAP;
    }
  }
}

// A place in each layer that a piece passes; links join neighbours for the order.
function passBy(piece, nodes, layers, links) {
  let from = nodes.get(piece.from), to = nodes.get(piece.to);
  if (from.rank > to.rank) [from, to] = [to, from];
  const way = [from];
  for (let rank = from.rank + 1; rank < to.rank; rank++) {
    const dummy = { id: `${piece.from}>${piece.to}@${rank}`, w: 10, h: 0, rank, dummy: true };
    layers[rank].push(dummy);
    way.push(dummy);
  }
  way.push(to);
  for (let n = 1; n < way.length; n++) links.push([way[n - 1], way[n]]);
  return way[0].id === piece.from ? way : way.reverse();
}

// Sweeps that put each node at the mean of its neighbours; the order with fewest crossings stays.
function orderLayers(layers, links) {
  const above = new Map(), below = new Map();
  for (const [a, b] of links) {
    if (!above.has(b)) above.set(b, []);
    if (!below.has(a)) below.set(a, []);
    above.get(b).push(a);
    below.get(a).push(b);
  }
  const number = () => layers.forEach((layer) => layer.forEach((node, n) => (node.at = n)));
  number();
  let best = layers.map((layer) => [...layer]), fewest = crossings(layers, below);
  for (let sweep = 0; sweep < 12 && fewest > 0; sweep++) {
    const side = sweep % 2 ? below : above;
    for (const layer of sweep % 2 ? [...layers].reverse() : layers) {
      const mean = new Map(layer.map((node) => {
        const near = side.get(node) ?? [];
        return [node, near.length ? near.reduce((s, o) => s + o.at, 0) / near.length : node.at];
      }));
      layer.sort((a, b) => mean.get(a) - mean.get(b) || a.at - b.at);
      layer.forEach((node, n) => (node.at = n));
    }
    const count = crossings(layers, below);
    if (count < fewest) [best, fewest] = [layers.map((layer) => [...layer]), count];
  }
  best.forEach((layer, n) => layers[n].splice(0, layer.length, ...layer));
  number();
}

function crossings(layers, below) {
  let count = 0;
  for (const layer of layers) {
    const ends = [];
    for (const node of layer) {
      const here = (below.get(node) ?? []).map((other) => other.at).sort((a, b) => a - b);
      for (const at of here) count += ends.filter((end) => end > at).length;
      ends.push(...here);
    }
  }
  return count;
}

// Each layer as near to its neighbours as the order and the widths allow, by least squares.
function placeAcross(layers, links) {
  const near = new Map(layers.flat().map((node) => [node, []]));
  for (const [a, b] of links) {
    const weight = a.dummy && b.dummy ? 8 : a.dummy || b.dummy ? 3 : 1;
    near.get(a).push([b, weight]);
    near.get(b).push([a, weight]);
  }
  for (const layer of layers) {
    let x = 0;
    for (const node of layer) {
      node.cx = x + node.w / 2;
      x += node.w + GAP;
    }
    for (const node of layer) node.cx -= x / 2;
  }
  for (let sweep = 0; sweep < 24; sweep++) {
    for (const layer of sweep % 2 ? [...layers].reverse() : layers) {
      const wish = layer.map((node) => {
        const links = near.get(node), sum = links.reduce((s, [, w]) => s + w, 0);
        const mean = sum ? links.reduce((s, [o, w]) => s + w * o.cx, 0) / sum : node.cx;
        return [mean, sum || 0.1];
      });
      spread(layer, wish);
    }
  }
}

// Pool adjacent violators: centres nearest to the wishes that keep order and distance.
function spread(layer, wish) {
  const offset = [0];
  for (let n = 1; n < layer.length; n++) {
    const gap = layer[n].dummy || layer[n - 1].dummy ? GAP * 0.7 : GAP;
    offset.push(offset[n - 1] + (layer[n - 1].w + layer[n].w) / 2 + gap);
  }
  const blocks = [];
  layer.forEach((_, n) => {
    blocks.push({ mean: wish[n][0] - offset[n], weight: wish[n][1], size: 1 });
    while (blocks.length > 1 && blocks.at(-2).mean > blocks.at(-1).mean) {
      const b = blocks.pop(), a = blocks.pop(), weight = a.weight + b.weight;
      const mean = (a.mean * a.weight + b.mean * b.weight) / weight;
      blocks.push({ mean, weight, size: a.size + b.size });
    }
  });
  let n = 0;
  for (const { mean, size } of blocks) for (let k = 0; k < size; k++, n++) layer[n].cx = mean + offset[n];
}

// Heights of layers, then the corners of pieces. Ends on a folded box spread along its side.
function placeDown(layers, pieces, head, title, labelWidth) {
  const all = layers.flat();
  const left = Math.min(...all.map((node) => node.cx - node.w / 2));
  for (const node of all) node.cx += PAD - left;
  let free = title; // edges come in beside the title
  for (const node of layers[0]) {
    node.cx = Math.max(node.cx, free + node.w / 2);
    free = node.cx + node.w / 2 + 8;
  }
  const right = Math.max(title, ...all.map((node) => node.cx + node.w / 2));
  const ends = sideEnds(pieces);
  let y = head;
  layers.forEach((layer, n) => {
    const height = Math.max(0, ...layer.map((node) => node.h));
    if (n === layers.length - 1) y += layer.length ? LAYER : PAD;
    else if (n > 0) y += gapAbove(layers, n, ends, pieces.some(labelWidth));
    for (const node of layer) {
      node.top = y;
      node.bottom = y + height;
      node.y = node.dummy ? y : y + (height - node.h) / 2;
      if (node.item) Object.assign(node.item, { x: node.cx - node.w / 2, y: node.y });
    }
    y += height;
  });
  for (const piece of pieces) piece.points = corners(piece, ends);
  // Labels stand to the right of heads.
  const text = pieces.filter((piece) => !isPort(piece.to)).map((piece) => piece.points.at(-1)[0] + labelWidth(piece));
  const ports = {};
  for (const node of all) if (node.port) ports[node.id] = node.cx;
  return { w: Math.max(right + PAD, ...text), h: y, ports };
}

function gapAbove(layers, n, ends, labels) {
  const down = layers[n - 1].some((node) => ends.has(node.id + "/bottom"));
  const arriving = layers[n].some((node) => ends.has(node.id + "/top"));
  if (!down && !arriving) return n === 1 ? 4 : GAP / 2;
  const most = Math.max(1, ...layers[n].map((node) => (ends.get(node.id + "/top") ?? []).length));
  return LAYER + (labels && arriving ? LABEL * (0.5 + 0.4 * Math.min(4, most)) : 0);
}

// Which pieces meet each side of a box, from left to right.
function sideEnds(pieces) {
  const ends = new Map();
  const note = (node, side, piece, other) => {
    const key = `${node.id}/${side}`;
    if (!ends.has(key)) ends.set(key, []);
    ends.get(key).push([piece, other.cx]);
  };
  for (const piece of pieces) {
    const way = piece.way, goesDown = way[0].rank < way.at(-1).rank;
    note(way[0], goesDown ? "bottom" : "top", piece, way[1]);
    note(way.at(-1), goesDown ? "top" : "bottom", piece, way.at(-2));
  }
  for (const list of ends.values()) list.sort((a, b) => a[1] - b[1]);
  return ends;
}

function corners(piece, ends) {
  const way = piece.way, goesDown = way[0].rank < way.at(-1).rank;
  const at = (node, side, isSource) => {
    if (node.port) return [node.cx, node.rank ? node.bottom : node.id === "in:" ? 0 : PILL[1]];
    const list = ends.get(`${node.id}/${side}`), n = list.findIndex(([p]) => p === piece);
    const port = node.item.ports?.[isSource ? "out:" + piece.depart : "in:" + piece.arrive];
    if (port !== undefined) {
      return [node.cx - node.w / 2 + port, side === "top" ? node.y + (piece.arrive && !isSource ? PILL[0] : 0) : node.y + node.h];
    }
    const room = Math.min(node.w - 24, 74 * (list.length - 1));
    const x = list.length > 1 ? (n / (list.length - 1) - 0.5) * room : 0;
    const y = side === "top" ? node.y : node.y + node.h;
    return [node.cx + x, y];
  };
  const points = [at(way[0], goesDown ? "bottom" : "top", true)];
  if (way[0].port && points[0][1] < way[0].top) points.push([points[0][0], way[0].top]);
  for (const node of way.slice(1, -1)) {
    const [first, second] = goesDown ? [node.top, node.bottom] : [node.bottom, node.top];
    points.push([node.cx, first], [node.cx, second]);
  }
  points.push(at(way.at(-1), goesDown ? "top" : "bottom", false));
  return points;
}
