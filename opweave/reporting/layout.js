// Layers from top to bottom, as opweave.tracer.layout has them: boxes are [{id, w, h}] in program order, edges [from, to].
// Edges against the order (there are some between groups) count as if they went the other way.
"use strict";
function layered(boxes, edges) {
  const at = new Map(boxes.map((box, i) => [box.id, i])), layer = new Array(boxes.length).fill(0);
  const down = edges.map(([a, b]) => [at.get(a), at.get(b)]).map(([a, b]) => a < b ? [a, b] : [b, a]);
  const users = boxes.map(() => []), sources = boxes.map(() => []);
  for (const [a, b] of down) { users[a].push(b); sources[b].push(a); }
  for (let i = 0; i < boxes.length; i++) for (const j of users[i]) layer[j] = Math.max(layer[j], layer[i] + 1);
  for (let i = boxes.length - 1; i >= 0; i--)
    if (!sources[i].length && users[i].length) layer[i] = Math.min(...users[i].map(j => layer[j])) - 1;
  const widths = boxes.map(box => box.w), rows = [], above = [], below = [], bends = new Map();
  const put = (i, l) => { (rows[l] = rows[l] || []).push(i); };
  boxes.forEach((_, i) => { put(i, layer[i]); above[i] = []; below[i] = []; });
  for (const [a, b] of down) {
    const key = a + " " + b, chain = [a];
    if (bends.has(key)) continue;
    if (layer[b] - layer[a] <= 12)
      for (let l = layer[a] + 1; l < layer[b]; l++) {
        const point = widths.push(0) - 1;
        layer[point] = l; above[point] = []; below[point] = []; put(point, l); chain.push(point);
      }
    chain.push(b);
    for (let k = 1; k < chain.length; k++) { below[chain[k - 1]].push(chain[k]); above[chain[k]].push(chain[k - 1]); }
    bends.set(key, chain.slice(1, -1));
  }
  for (let l = 0; l < rows.length; l++) rows[l] = rows[l] || [];
  const mean = (list, of) => list.reduce((sum, i) => sum + of[i], 0) / list.length;
  const place = [];
  const number = row => row.forEach((i, k) => { place[i] = k / Math.max(row.length - 1, 1); });
  rows.forEach(number);
  for (let sweep = 0; sweep < 4; sweep++) {
    const near = sweep % 2 ? below : above;
    for (const row of sweep % 2 ? [...rows].reverse() : rows) {
      for (const i of row) if (near[i].length) place[i] = mean(near[i], place);
      row.sort((i, j) => place[i] - place[j]);
      number(row);
    }
  }
  const x = [], gap = 18;
  for (const row of rows) {
    let end = 0;
    for (const i of row) { x[i] = end + widths[i] / 2; end += widths[i] + gap; }
    for (const i of row) x[i] -= end / 2;
  }
  for (let sweep = 0; sweep < 8; sweep++) {
    const near = sweep % 2 ? below : above;
    for (const row of sweep % 2 ? [...rows].reverse() : rows) {
      const offsets = [], pools = [];
      row.forEach((i, k) => {
        offsets.push(k ? offsets[k - 1] + (widths[row[k - 1]] + widths[i]) / 2 + gap : 0);
        let pool = [(near[i].length ? mean(near[i], x) : x[i]) - offsets[k], 1];
        while (pools.length && pools[pools.length - 1][0] / pools[pools.length - 1][1] > pool[0] / pool[1]) {
          const before = pools.pop();
          pool = [pool[0] + before[0], pool[1] + before[1]];
        }
        pools.push(pool);
      });
      let k = 0;
      for (const [total, count] of pools)
        for (let n = 0; n < count; n++, k++) x[row[k]] = total / count + offsets[k];
    }
  }
  const tops = [];
  let y = gap;
  for (const row of rows) {
    const tall = Math.max(0, ...row.filter(i => i < boxes.length).map(i => boxes[i].h));
    tops.push(y + tall / 2);
    y += tall + 40;
  }
  const left = Math.min(0, ...boxes.map((box, i) => x[i] - box.w / 2)) - gap;
  boxes.forEach((box, i) => { box.x = x[i] - left; box.y = tops[layer[i]]; });
  const paths = edges.map(([a, b]) => {
    const i = at.get(a), j = at.get(b), back = i > j, [p, q] = back ? [j, i] : [i, j];
    const points = [[boxes[p].x, boxes[p].y + boxes[p].h / 2],
      ...bends.get(p + " " + q).map(k => [x[k] - left, tops[layer[k]]]), [boxes[q].x, boxes[q].y - boxes[q].h / 2]];
    let text = `M${points[0][0].toFixed()} ${points[0][1].toFixed()}`;
    for (let k = 1; k < points.length; k++) {
      const [x0, y0] = points[k - 1], [x1, y1] = points[k], middle = ((y0 + y1) / 2).toFixed();
      text += `C${x0.toFixed()} ${middle} ${x1.toFixed()} ${middle} ${x1.toFixed()} ${y1.toFixed()}`;
    }
    return {d: text, back};
  });
  return {paths, width: Math.max(...boxes.map(box => box.x + box.w / 2), 0) + gap, height: y};
}
