// Elements, and how numbers are written. Texts go in as texts only.
const SVG = "http://www.w3.org/2000/svg";
function el(tag, attributes, ...children) {
  const made = ["svg", "g", "rect", "path", "text", "title", "line"].includes(tag) ? document.createElementNS(SVG, tag)
    : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {}))
    if (key === "onclick") answer(made, value);
    else if (value !== undefined && value !== null) made.setAttribute(key, value);
  for (const child of children.flat(2)) if (child || child === 0) made.append(child);
  return made;
}
// What a click does, the Enter key and the space bar do.
function answer(made, action) {
  if (!action) return;
  made.addEventListener("click", action);
  if (made.tagName === "BUTTON") return;
  made.setAttribute("tabindex", "0");
  if (!["TR", "SVG"].includes(made.tagName)) made.setAttribute("role", "button");
  made.addEventListener("keydown", event => {
    if (event.target !== made || !["Enter", " "].includes(event.key)) return;
    event.preventDefault();
    action(event);
  });
}
const fixed = (value, digits = 3) => String(Number(value.toPrecision(digits)));
function time(seconds) {
  if (seconds === null || seconds === undefined) return "-";
  return seconds >= 1 ? fixed(seconds) + " s" : seconds >= 1e-3 ? fixed(seconds * 1e3) + " ms" : fixed(seconds * 1e6) + " µs";
}
function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB"];
  let k = 0;
  while (n >= 1024 && k < 3) { n /= 1024; k++; }
  return fixed(n, 4) + " " + units[k];
}
const percent = part => part === null || part === undefined || !isFinite(part) ? "" : fixed(part * 100, part < .1 ? 2 : 3) + " %";
const base = path => path.split(/[\\/]/).pop();
const count = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
const working = step => ["kernel", "product", "convolve", "call", "tuned", "copying"].includes(step.kind);
const shorten = (text, n = 40) => text.length > n ? text.slice(0, n - 1) + "…" : text;
function counted(names) {
  const found = new Map();
  for (const name of names) found.set(name, (found.get(name) || 0) + 1);
  return [...found].map(([name, n]) => n > 1 ? `${name} ×${n}` : name).join(", ");
}
function table(head, rows) {
  return el("table", {}, el("tr", {}, head.map(([text, kind]) => el("th", {class: kind || ""}, text))), rows);
}
function save(name, text, kind) {
  const link = el("a", {href: URL.createObjectURL(new Blob([text], {type: kind})), download: name});
  link.click();
  URL.revokeObjectURL(link.href);
}
// An SVG that is moved with the mouse and zoomed with the wheel; or with the arrows, + and -.
function movable(svg, width, height) {
  const view = [0, 0, Math.max(width, 50), Math.max(height, 50)];
  const show = () => svg.setAttribute("viewBox", view.join(" "));
  svg.addEventListener("wheel", event => {
    event.preventDefault();
    const box = svg.getBoundingClientRect(), scale = Math.exp(event.deltaY * .0015);
    const x = view[0] + (event.clientX - box.left) / box.width * view[2], y = view[1] + (event.clientY - box.top) / box.height * view[3];
    view[0] = x - (x - view[0]) * scale; view[1] = y - (y - view[1]) * scale; view[2] *= scale; view[3] *= scale;
    show();
  }, {passive: false});
  svg.setAttribute("tabindex", "0");
  svg.addEventListener("keydown", event => {
    const by = {ArrowLeft: [-.1, 0, 1], ArrowRight: [.1, 0, 1], ArrowUp: [0, -.1, 1], ArrowDown: [0, .1, 1], "+": [.1, .1, .8], "-": [-.125, -.125, 1.25]}[event.key];
    if (!by) return;
    event.preventDefault();
    view[0] += by[0] * view[2]; view[1] += by[1] * view[3]; view[2] *= by[2]; view[3] *= by[2];
    show();
  });
  let from = null;
  svg.addEventListener("pointerdown", event => { from = [event.clientX, event.clientY, ...view]; });
  svg.addEventListener("pointermove", event => {
    if (!from || !event.buttons) { from = null; return; }
    const box = svg.getBoundingClientRect(), unit = Math.max(view[2] / box.width, view[3] / box.height);
    view[0] = from[2] - (event.clientX - from[0]) * unit; view[1] = from[3] - (event.clientY - from[1]) * unit;
    show();
  });
  show();
  return {center(x, y, w) { view[2] = w; view[3] = w * .6; view[0] = x - w / 2; view[1] = y - view[3] / 2; show(); }};
}
