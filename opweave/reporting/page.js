// The page: tabs in the middle, and at the side what there is to say of the thing that was clicked.
function start(data) {
  const app = document.getElementById("app");
  const state = {version: data.versions.findIndex(v => !v.stub), program: 0, tab: "Source", stage: 0, open: new Set(), picked: null};
  if (state.version < 0) state.version = data.versions.length - 1;
  const head = el("header"), main = el("main"), side = el("aside");
  app.append(head, main, side);
  const version = () => data.versions[state.version] || {programs: [], guards: [], reasons: []};
  const program = () => version().programs[state.program] || {stages: [], steps: [], kernels: [], buffers: [], lines: [], apart: []};
  const total = p => p.steps.reduce((sum, step) => sum + (step.seconds || 0), 0);
  const files = new Map(data.files.map(file => [file.path, file]));
  const place = site => site < 0 ? "" : `${base(data.sites[site][0])}:${data.sites[site][1]}`;
  function textOf(site) {
    if (site < 0 || site === undefined) return "";
    const [path, line] = data.sites[site];
    for (const [first, lines] of (files.get(path) || {parts: []}).parts)
      if (line >= first && line < first + lines.length) return lines[line - first].trim();
    return "";
  }
  const toLine = site => el("a", {onclick: () => { state.tab = "Source"; draw(); pickLine(site, true); }}, place(site));
  const chip = step => el("span", {class: "chip " + step.kind, title: step.text, onclick: event => { event.stopPropagation(); pickStep(step); }}, step.label);
  const why = text => el("div", {class: "why"}, text);
  const show = (...children) => { side.replaceChildren(...children.flat(2).filter(child => child)); side.scrollTop = 0; };
  const go = tab => {
    state.tab = tab;
    try { history.replaceState(null, "", "#" + tab); } catch { /* a frame without an address */ }
    draw();
  };

  // The texts of a kernel stand below the tables.
  const toTexts = name => { state.kernel = name; go("Kernels"); document.getElementById("texts")?.scrollIntoView(); };

  // ---- the side
  function overview() {
    const p = program(), all = total(p);
    const slow = p.steps.filter(working).sort((a, b) => (b.seconds || 0) - (a.seconds || 0)).slice(0, 10);
    show(el("h2", {}, all ? "Slowest steps" : "Steps"),
      p.problem && why(p.problem),
      version().stub && el("p", {class: "note"}, "This version was not called; it is shown as far as its graphs."),
      slow.map(step => el("div", {class: "card", onclick: () => pickStep(step)},
        el("div", {}, el("b", {}, shorten(step.label, 44)), " ", el("span", {class: "dim"}, `${time(step.seconds)} ${percent(step.seconds / all)}`)),
        step.detail && el("div", {class: "dim"}, shorten(step.detail, 56)),
        el("div", {class: "dim"}, shorten(step.sites.map(place).join(", "), 56)),
        el("div", {class: "bar", style: `width:${all ? 100 * step.seconds / all : 0}%`}))),
      el("p", {class: "note"}, "Click a line or a step: here stands what it became, how long that takes, and why it is not one kernel with the rest."));
  }
  function stepFacts(step) {
    const rows = [], add = (key, value) => value && rows.push(el("tr", {}, el("td", {class: "dim"}, key), el("td", {}, value)));
    add("time", step.seconds !== null && `${time(step.seconds)}, ${percent(step.seconds / total(program()))} of all steps`);
    add("shapes", step.detail);
    add("reads", step.reads.length && `${bytes(step.read)}: ${shorten(step.reads.join(", "), 90)}`);
    add("writes", step.writes.length && `${bytes(step.written)}: ${shorten(step.writes.join(", "), 90)}`);
    add("moves", step.seconds && step.read + step.written && `${fixed((step.read + step.written) / step.seconds / 1e9)} GB/s`);
    add("computes", step.flops && step.seconds && `${fixed(step.flops / step.seconds / 1e9)} GFLOP/s`);
    add("of the roof", step.share !== null && `${percent(step.share)} (${step.bound})`);
    add("ops", step.ops.length && counted(step.ops));
    return el("table", {}, rows);
  }
  function pickStep(step) {
    const kernel = program().kernels.find(k => k.name === step.kernel);
    show(el("div", {}, el("a", {onclick: overview}, "← slowest steps")),
      el("h2", {}, step.label), el("span", {class: "chip " + step.kind}, step.kind),
      step.reason && el("h3", {}, "Why it is a step of its own"), step.reason && step.reason.split("; ").map(why),
      stepFacts(step),
      step.sites.length > 0 && el("h3", {}, "Lines"),
      step.sites.map(site => el("div", {}, toLine(site), " ", el("span", {class: "code dim"}, shorten(textOf(site), 48)))),
      kernel && el("p", {}, el("a", {onclick: () => toTexts(kernel.name)}, "Triton, TTIR, LLVM, assembly →")),
      el("p", {}, el("a", {onclick: () => { state.stage = program().stages.length - 1; go("Graph"); find(step.node); }}, "in the graph →")),
      el("h3", {}, "Step of the host"), el("pre", {}, step.text));
  }
  function pickLine(site, scroll) {
    state.picked = site;
    for (const row of main.querySelectorAll("tr.on")) row.classList.remove("on");
    const row = document.getElementById("line" + data.sites[site].slice(0, 2).join(":"));
    if (row) { row.classList.add("on"); if (scroll) row.scrollIntoView({block: "center"}); }
    const p = program(), all = total(p), found = lineRows(p).get(data.sites[site].slice(0, 2).join(":"));
    if (!found) { show(el("h2", {}, place(site)), el("p", {class: "note"}, "Nothing came of this line.")); return; }
    const steps = found.steps.map(i => p.steps[i]).sort((a, b) => (b.seconds || 0) - (a.seconds || 0));
    show(el("div", {}, el("a", {onclick: overview}, "← slowest steps")), el("h2", {}, place(site)), el("pre", {}, textOf(site)),
      all > 0 && el("p", {}, `${time(found.seconds)} of its own, ${percent(found.seconds / all)}; ${time(found.total)} with what it calls`),
      found.reasons.length > 0 && el("h3", {}, "Why not one kernel"), found.reasons.map(why),
      el("h3", {}, found.ops.length ? "Ops as captured" : ""), found.ops.length > 0 && el("div", {}, counted(found.ops)),
      steps.length > 0 && el("h3", {}, "What came of it"),
      steps.map(step => el("div", {class: "card", onclick: () => pickStep(step)}, chip(step), " ",
        el("span", {class: "dim"}, `${time(step.seconds)}; ${count(step.sites.length, "line")}`),
        step.reason && el("div", {class: "dim"}, shorten(step.reason, 150)))),
      !steps.length && found.ops.length > 0 && el("p", {class: "note"}, "No step is left of it: its ops were folded, shared with others, or only name memory."));
  }
  function lineRows(p) {
    if (p.rows) return p.rows;
    p.rows = new Map();
    for (const line of p.lines) {
      const key = data.sites[line.site].slice(0, 2).join(":"), row = p.rows.get(key);
      if (!row) p.rows.set(key, {...line, steps: [...line.steps], ops: [...line.ops], reasons: [...line.reasons]});
      else {
        row.seconds += line.seconds; row.total += line.total; row.ops.push(...line.ops);
        row.steps = [...new Set([...row.steps, ...line.steps])]; row.reasons = [...new Set([...row.reasons, ...line.reasons])];
      }
    }
    return p.rows;
  }

  // ---- tabs
  const tabs = {Source() {
    const p = program(), all = total(p), rows = lineRows(p), most = Math.max(0, ...[...rows.values()].map(row => row.seconds));
    main.append(el("p", {class: "note"}, "Beside each line what came of it. The first number is the line's own share of the call's steps (a kernel's time is shared evenly by its ops), the second adds what the line calls. Click a line for the reasons."));
    const lined = [...rows.values()].reduce((sum, row) => sum + row.seconds, 0);
    if (all && lined < .98 * all) main.append(el("p", {class: "note"}, `${percent(1 - lined / all)} of the time is of no line of yours: memory, views, and what the library adds by itself.`));
    if (p.seconds && p.stepwise > 1.5 * p.seconds) {
      // From Python to a step takes microseconds; what is missing beyond that, other programs took.
      const quiet = (p.stepwise - p.seconds) / p.steps.length < 1e-4;
      main.append(el("p", {class: "note"}, quiet
        ? `The steps are small: one by one they take ${time(p.stepwise)}, most of it the way from Python to them. The compiled code, where they share native calls, takes ${time(p.seconds)}.`
        : `One by one the steps take ${time(p.stepwise)}, and ${time(p.seconds)} in the compiled code: the machine was busy with something else for a while. Shares are of the first; report again when it is quiet.`));
    }
    const lines = new Map();
    for (const [i, [path, line]] of data.sites.entries()) lines.set(path + ":" + line, i);
    if (!data.files.length) main.append(el("p", {}, data.sites.length ? "The source is not to be found: it was made while the program ran." : "No line of your own is in it: what it calls is the library's."));
    for (const file of data.files) {
      main.append(el("h2", {title: file.path}, base(file.path), " ", el("span", {class: "dim"}, file.path)));
      const body = el("table", {class: "src"}, el("tr", {}, ["", "own", "with calls", "", "became"].map(text => el("th", {class: text === "became" ? "" : "n"}, text))));
      for (const [first, text] of file.parts) {
        text.forEach((code, k) => {
          const key = file.path + ":" + (first + k), row = rows.get(key), site = lines.get(key);
          const steps = row ? row.steps.map(i => p.steps[i]).sort((a, b) => (b.seconds || 0) - (a.seconds || 0)) : [];
          const part = row && all ? row.seconds / all : 0, of = row && most ? row.seconds / most : 0;
          body.append(el("tr", {class: row ? "go" : "", id: "line" + key, onclick: row ? () => pickLine(site) : undefined},
            el("td", {class: "no"}, String(first + k)),
            el("td", {class: "t"}, el("i", {style: `width:${(100 * of).toFixed(1)}%`}), el("span", {}, part > 0 ? percent(part) : "")),
            el("td", {class: "t"}, row && all && row.total > row.seconds * 1.001 ? percent(row.total / all) : ""),
            el("td", {class: "c", title: code.length > 74 ? code : null}, code || " "),
            el("td", {class: "chips"}, steps.slice(0, 2).map(chip), steps.length > 2 && el("span", {class: "dim"}, `+${steps.length - 2}`),
              row && !steps.length && row.ops.length ? el("span", {class: "dim"}, shorten(counted(row.ops))) : "")));
        });
        body.append(el("tr", {}, el("td", {class: "no"}, "⋮")));
      }
      main.append(body);
    }
  }, Graph() { drawGraph(); }, Kernels() {
    const p = program(), all = total(p);
    const uses = name => p.steps.filter(step => step.kernel === name);
    const m = data.machine;
    if (m) main.append(el("p", {class: "note"}, `The roof was measured on this machine (${m.name}${m.threads ? `, ${count(m.threads, "thread")}` : ""}) with compiled code: `
      + `x + 1 moves ${m.bandwidth.map(([n, rate]) => `${fixed(rate / 1e9)} GB/s at ${bytes(n)}`).join(", ")}; a product of matrices `
      + `${Object.entries(m.flops).map(([name, rate]) => `${fixed(rate / 1e9)} GFLOP/s in ${name}`).join(", ")}. `
      + "A share is the least time, by bytes or by flops, over the time taken. Bytes count each element of a tensor once, as far as the step can read it; caches can make a share larger than 100 %. What moves little has none: it takes as long as its launch."));
    const steps = p.steps.filter(working).sort((a, b) => (b.seconds || 0) - (a.seconds || 0));
    main.append(el("h2", {}, "Steps that work"), table([["step"], ["time", "n"], ["share", "n"], ["read", "n"], ["written", "n"], ["GB/s", "n"], ["GFLOP/s", "n"], ["of the roof", "n"], ["lines"]],
      steps.map(step => el("tr", {class: "go" + (step.kernel && step.kernel === state.kernel ? " on" : ""), onclick: () => { if (step.kernel) { state.kernel = step.kernel; draw(); } pickStep(step); }},
        el("td", {}, el("span", {class: "chip " + step.kind}, step.label)), el("td", {class: "n"}, time(step.seconds)), el("td", {class: "n"}, all ? percent(step.seconds / all) : ""),
        el("td", {class: "n"}, bytes(step.read)), el("td", {class: "n"}, bytes(step.written)),
        el("td", {class: "n"}, step.seconds ? fixed((step.read + step.written) / step.seconds / 1e9) : ""), el("td", {class: "n"}, step.flops && step.seconds ? fixed(step.flops / step.seconds / 1e9) : ""),
        el("td", {class: "n"}, step.share === null ? "" : percent(step.share)), el("td", {class: "dim", title: step.sites.map(place).join(", ")}, shorten(step.sites.map(place).join(", "), 28))))));
    if (!p.kernels.length) return;
    main.append(el("h2", {}, "Kernels"), el("p", {class: "note"}, "Launches and times of a call of the compiled code as it runs, counted by native code."),
      table([["kernel"], ["launches", "n"], ["time in launches", "n"], ["steps", "n"]], p.kernels.map(kernel =>
        el("tr", {class: "go" + (kernel.name === state.kernel ? " on" : ""), onclick: () => toTexts(kernel.name)},
          el("td", {}, kernel.name), el("td", {class: "n"}, kernel.launches === null ? "" : fixed(kernel.launches)), el("td", {class: "n"}, time(kernel.seconds)), el("td", {class: "n"}, String(uses(kernel.name).length))))));
    const kernel = p.kernels.find(k => k.name === state.kernel);
    if (!kernel) return;
    const forms = Object.keys(kernel.texts), form = forms.includes(state.form) ? state.form : forms[0];
    const names = {triton: "Triton", ttir: "TTIR", llir: "LLVM IR", asm: "assembly", ttgir: "TTGIR", ptx: "PTX"};
    main.append(el("h2", {id: "texts"}, kernel.name), kernel.problem && why(kernel.problem),
      el("div", {class: "stages"}, forms.map(name => el("button", {class: name === form ? "on" : "", onclick: () => { state.form = name; draw(); document.getElementById("texts").scrollIntoView(); }},
        names[name] || name, " ", el("small", {}, count(kernel.texts[name].split("\n").length, "line"))))),
      el("pre", {}, kernel.texts[form]));
  }, Timeline() { drawTimeline(); }, Memory() { drawMemory(); }, Guards() {
    for (const v of data.versions) {
      main.append(el("h2", {}, `Version ${v.index}`, " ", el("span", {class: "dim"}, v.misfit === null ? "fits the call" : "does not fit the call: " + v.misfit)));
      if (v.reasons.length) main.append(el("div", {}, "compiled because"), ...v.reasons.map(why));
      else if (v.index) main.append(el("p", {class: "note"}, "compiled when no earlier version was there"));
      if (v.backward) main.append(el("p", {class: "note"}, v.backward));
      main.append(table([["depends on"], ["which"], ["read by"]], v.guards.map(guard => el("tr", {}, el("td", {title: guard.what}, shorten(guard.what, 48)),
        el("td", {class: "words", title: guard.test}, guard.words), el("td", {}, guard.site < 0 ? "" : toLine(guard.site), " ", el("span", {class: "code dim"}, shorten(textOf(guard.site))))))));
    }
  }, Code() {
    const p = program();
    main.append(el("h2", {}, "Steps of the host"), el("p", {class: "note"}, "Segments are native calls of many steps."), el("pre", {}, p.host || "-"), el("h2", {}, "As Python"), el("pre", {}, p.code || "-"));
  }};

  // ---- the graph
  let found = null;
  function find(name) { found = name; if (state.tab === "Graph") draw(); }
  function groupsOf(node) {
    const path = [...node.sites].reverse(), keys = [];
    let key = "";
    for (const site of path) { key += "/" + site; keys.push([key, site]); }
    return keys.length || !["op", "item", "kernel"].includes(node.kind) ? keys : [["/-1", -1]];
  }
  function drawGraph() {
    const p = program();
    if (!p.stages.length) { main.append(el("p", {}, "No graph.")); return; }
    state.stage = Math.min(state.stage, p.stages.length - 1);
    const stage = p.stages[state.stage];
    main.append(el("div", {class: "stages"}, p.stages.map((s, i) => el("button", {class: i === state.stage ? "on" : "", onclick: () => { state.stage = i; draw(); }}, s.name, " ",
      el("small", {}, i ? `+${s.added.length} −${s.removed.length} ~${s.changed.length}, ${fixed(s.milliseconds, 2)} ms` : count(s.nodes.length, "node"))))));
    const texts = new Map(stage.nodes.map(node => [node.name, node]));
    if (stage.added.length + stage.removed.length + stage.changed.length) {
      const list = [...stage.removed.map(name => el("div", {class: "r"}, "− " + stage.gone[name])), ...stage.changed.map(name => el("div", {class: "c"}, "~ " + texts.get(name).text)),
        ...stage.added.map(name => el("div", {class: "a"}, "+ " + texts.get(name).text))];
      main.append(el("details", {}, el("summary", {}, `what ${stage.name} changed: ${stage.added.length} new, ${stage.removed.length} gone, ${stage.changed.length} changed`), el("pre", {class: "diff"}, list)));
    }
    // Groups by the call that led to a node; those that are not open stand as one box.
    const groups = new Map(stage.nodes.map(node => [node, groupsOf(node)])), members = new Map();
    for (const [node, keys] of groups) for (const [key] of keys) { const list = members.get(key) || []; list.push(node); members.set(key, list); }
    const LIMIT = 150, PART = 60, large = stage.nodes.length > LIMIT;
    // What a line did in many turns of a loop stands in parts, in its order.
    const leaves = new Map(), parts = new Map();
    for (const [node, keys] of groups) if (keys.length) { const key = keys[keys.length - 1][0], list = leaves.get(key) || []; list.push(node); leaves.set(key, list); }
    for (const [key, list] of leaves) if (list.length > LIMIT) list.forEach((node, i) => {
      const part = `${key}#${Math.floor(i / PART)}`, keys = groups.get(node), held = members.get(part) || [];
      held.push(node); members.set(part, held); keys.push([part, keys[keys.length - 1][1]]);
      parts.set(part, `nodes ${Math.floor(i / PART) * PART + 1} to ${Math.min(Math.floor(i / PART) * PART + PART, list.length)} of ${list.length}`);
    });
    if (found) for (const [key] of groups.get(texts.get(found)) || []) state.open.add(key);
    const home = node => {
      if (!large && !state.closed) return node.name;
      const keys = groups.get(node).map(([key]) => key), size = key => key === undefined ? 0 : members.get(key).length;
      // A group that only holds another one is that one.
      for (const [i, key] of keys.entries()) if (!state.open.has(key) && size(key) > 1 && size(key) !== size(keys[i + 1])) return key;
      return node.name;
    };
    const inputs = stage.nodes.filter(node => ["input", "constant"].includes(node.kind));
    const joined = large && inputs.length > 12 && !state.open.has("inputs") ? new Set(inputs) : new Set();
    const owner = new Map(stage.nodes.map(node => [node.name, joined.has(node) ? "inputs" : home(node)]));
    const boxes = new Map(), added = new Set(stage.added), changed = new Set(stage.changed);
    for (const node of stage.nodes) {
      const id = owner.get(node.name), known = boxes.get(id);
      if (known) { known.nodes.push(node); continue; }
      boxes.set(id, {id, nodes: [node], site: id === node.name || id === "inputs" ? -1 : groups.get(node).find(([key]) => key === id)[1]});
    }
    for (const box of boxes.values()) {
      const node = box.nodes[0], group = box.id !== node.name;
      const fn = box.site >= 0 ? data.sites[box.site][2] : "";
      box.lines = group ? [box.site >= 0 ? `${fn} ${place(box.site)}` : box.id === "inputs" ? "inputs and constants" : "of no line", box.site >= 0 ? shorten(textOf(box.site), 46) : "", parts.get(box.id) || count(box.nodes.length, "node")]
        : node.kind === "kernel" ? [node.label, ...node.inner.filter(n => n.kind === "op").slice(0, 6).map(n => n.label), node.inner.filter(n => n.kind === "op").length > 6 ? `… ${node.inner.filter(n => n.kind === "op").length - 6} more` : "", shorten(node.type)] : [shorten(node.label), shorten(node.type)];
      box.lines = box.lines.filter(text => text);
      box.w = Math.max(...box.lines.map(text => text.length)) * 6.7 + 16;
      box.h = box.lines.length * 15 + 8;
      box.group = group;
      box.kind = "box " + (group ? "g" : {kernel: "k", input: "input", constant: "constant", output: "output"}[node.kind] || "o")
        + (box.nodes.some(n => added.has(n.name)) ? " new" : box.nodes.some(n => changed.has(n.name)) ? " changed" : "");
    }
    const list = [...boxes.values()], pairs = new Map();
    for (const node of stage.nodes) for (const source of node.inputs) {
      const a = owner.get(source), b = owner.get(node.name);
      if (a !== undefined && a !== b) pairs.set(a + "\0" + b, [a, b]);
    }
    const open = [...state.open].filter(key => key === "inputs" ? inputs.length > 12 : members.has(key));
    main.append(el("div", {class: "stages"},
      el("button", {class: "plain", onclick: () => { state.closed = true; state.open.clear(); found = null; draw(); }}, "collapse all"),
      !large && state.closed && el("button", {class: "plain", onclick: () => { state.closed = false; draw(); }}, "show all"),
      open.map(key => el("button", {class: "plain", title: "collapse", onclick: () => { for (const other of [...state.open]) if (other === key || other.startsWith(key + "/") || other.startsWith(key + "#")) state.open.delete(other); found = null; draw(); }},
        key === "inputs" ? "inputs" : parts.get(key) || place(+key.split("/").pop()) || "of no line", " ×")),
      el("span", {class: "dim"}, `${count(list.length, "box").replace(/boxs$/, "boxes")} for ${count(stage.nodes.length, "node")}; click a violet box to open it, drag to move, wheel to zoom (keys: arrows, +, -)`)));
    if (list.length > 1500) { main.append(el("p", {}, "Too many boxes to draw; collapse some.")); return; }
    const laid = layered(list, [...pairs.values()]);
    const svg = el("svg", {role: "img", preserveAspectRatio: "xMidYMin"});
    laid.paths.forEach(path => svg.append(el("path", {class: "e" + (path.back ? " back" : ""), d: path.d})));
    for (const box of list) {
      const x = box.x - box.w / 2, y = box.y - box.h / 2;
      const picked = found && box.nodes.some(node => node.name === found);
      svg.append(el("g", {class: box.kind + (picked ? " on" : ""), onclick: () => box.group ? (state.closed = true, state.open.add(box.id), draw()) : pickNode(box.nodes[0])},
        el("title", {}, box.group ? textOf(box.site) : box.nodes[0].text), el("rect", {x, y, width: box.w, height: box.h, rx: 4}),
        box.lines.map((text, k) => el("text", {x: x + 8, y: y + 16 + 15 * k, class: k ? "s" : ""}, text))));
    }
    main.append(el("div", {class: "canvas"}, svg));
    const view = movable(svg, laid.width, laid.height), target = list.find(box => found && box.nodes.some(node => node.name === found));
    if (target) { view.center(target.x, target.y, 900); pickNode(texts.get(found)); }
    else if (laid.height > 1400) view.center(Math.min(laid.width / 2, 600), 330, 1100);
  }
  function pickNode(node) {
    const p = program(), steps = p.steps.filter(step => step.node === node.name && working(step));
    show(el("div", {}, el("a", {onclick: overview}, "← slowest steps")), el("h2", {}, node.name), el("pre", {}, node.text),
      el("p", {}, "reads ", node.inputs.map(name => [el("a", {onclick: () => find(name)}, name), " "])),
      node.sites.map((site, k) => el("div", {}, k ? "called from " : "from ", toLine(site), " ", el("span", {class: "code dim"}, shorten(textOf(site), 48)))),
      node.inner.length > 0 && el("h3", {}, "computes"), node.inner.length > 0 && el("pre", {}, node.inner.map(row => row.text).join("\n")),
      steps.length > 0 && el("h3", {}, "steps"), steps.map(step => el("div", {}, chip(step), " ", time(step.seconds))));
  }

  // ---- time and memory
  function drawTimeline() {
    const p = program(), steps = p.steps.filter(step => step.start !== null && working(step));
    if (!steps.length) { main.append(el("p", {}, "This call was not measured.")); return; }
    const end = Math.max(...p.steps.filter(s => s.start !== null).map(step => step.start + step.took)), width = 1200, scale = width / end;
    const lanes = [["kernels", ["kernel", "tuned"]], ["products, convolutions", ["product", "convolve"]], ["calls of ops", ["call"]], ["copies", ["copying"]]];
    main.append(el("p", {class: "note"}, `One call, step by step: ${time(end)}. The compiled code itself takes ${time(p.seconds)} a call (the best of some): there steps share native calls and caches. Between steps: allocations, views, and Python.`),
      el("p", {}, el("button", {class: "plain", onclick: () => save(data.name + ".trace.json", JSON.stringify(data.timeline), "application/json")}, "save for Perfetto / Chrome")));
    const svg = el("svg", {style: "height:220px"});
    lanes.forEach(([name, kinds], k) => {
      svg.append(el("rect", {class: "lane", x: 0, y: 10 + 48 * k, width, height: 40}), el("text", {class: "s", x: 4, y: 22 + 48 * k}, name));
      for (const step of steps) if (kinds.includes(step.kind)) {
        const w = Math.max(step.took * scale, .8);
        svg.append(el("rect", {class: "step", x: step.start * scale, y: 26 + 48 * k, width: w, height: 22, fill: `var(--${step.kind})`, onclick: () => pickStep(step)},
          el("title", {}, `${step.label}  ${time(step.took)}`)));
        if (w > 7 * Math.min(step.label.length, 8)) svg.append(el("text", {x: step.start * scale + 3, y: 41 + 48 * k, style: "fill:#fff"}, shorten(step.label, Math.floor(w / 6.9))));
      }
    });
    main.append(el("div", {class: "canvas"}, svg));
    movable(svg, width, 205);
    if (p.stages.length) main.append(el("h2", {}, "Passes of the compilation"), table([["pass"], ["ms", "n"], ["nodes", "n"]], p.stages.slice(1).map(s => el("tr", {}, el("td", {}, s.name), el("td", {class: "n"}, fixed(s.milliseconds)), el("td", {class: "n"}, String(s.nodes.length))))));
  }
  function drawMemory() {
    const p = program(), own = p.buffers.filter(row => !["input", "constant"].includes(row.kind) && row.nbytes), given = p.buffers.filter(row => ["input", "constant"].includes(row.kind));
    const n = p.steps.length;
    if (!n) { main.append(el("p", {}, "No steps.")); return; }
    const at = new Array(n + 1).fill(0);
    for (const row of own) for (let i = row.first; i <= row.last; i++) at[i] += row.nbytes;
    const peak = Math.max(...at), when = at.indexOf(peak);
    main.append(el("p", {class: "note"}, `At most ${bytes(peak)} at once beside ${bytes(given.reduce((sum, row) => sum + row.nbytes, 0))} of inputs and constants, at step ${when} (${(p.steps[when] || {label: "the end"}).label}). `
      + `All buffers together: ${bytes(own.reduce((sum, row) => sum + row.nbytes, 0))}. ` + (p.arena ? `Blocks that native calls share: ${bytes(p.arena)}. ` : "") + "From left to right: the steps of the host."));
    const width = 1200, unit = width / n, shown = [...own].sort((a, b) => b.nbytes - a.nbytes).slice(0, 48).sort((a, b) => a.first - b.first), svg = el("svg", {style: `height:${Math.round(.8 * (130 + 16 * shown.length))}px`, preserveAspectRatio: "xMidYMin"});
    let path = `M0 110`;
    for (let i = 0; i < n; i++) { const y = (110 - 100 * at[i] / (peak || 1)).toFixed(1); path += `L${(i * unit).toFixed(1)} ${y}L${((i + 1) * unit).toFixed(1)} ${y}`; }
    svg.append(el("path", {d: path + `L${width} 110z`, fill: "var(--used)", stroke: "var(--hot)"}), el("text", {class: "s", x: 4, y: 14}, bytes(peak)));
    shown.forEach((row, k) => {
      const y = 122 + 16 * k;
      svg.append(el("rect", {class: "step", x: row.first * unit, y, width: Math.max((row.last - row.first + 1) * unit, 1.5), height: 13, fill: `var(--${row.kind === "result" ? "result" : row.kind === "own" ? "own" : "given"})`, onclick: () => show(el("h2", {}, row.name), el("p", {}, `${row.type}, ${bytes(row.nbytes)}, ${row.kind}; needed from step ${row.first} to ${row.last}`), el("h3", {}, "made or first written by"), el("pre", {}, (p.steps[row.first] || {text: ""}).text), el("h3", {}, "needed last by"), el("pre", {}, (p.steps[row.last] || {text: ""}).text))},
        el("title", {}, `${row.name} ${row.type} ${bytes(row.nbytes)}`)), el("text", {x: Math.min(row.first * unit + 3, width - 200), y: y + 10}, `${row.name} ${row.type} ${bytes(row.nbytes)}`));
    });
    main.append(el("div", {class: "canvas"}, svg), el("p", {class: "dim"}, "green: the graph's own; blue: results; red: what calls of ops return" + (own.length > 48 ? `; the 48 largest of ${own.length}` : "")));
    movable(svg, width, 130 + 16 * shown.length);
  }

  function draw() {
    const held = document.activeElement, name = held?.tagName === "BUTTON" ? held.textContent : null;
    const p = program(), v = version(), fact = (name, value) => value && el("span", {class: "fact"}, name, " ", el("b", {}, value));
    const steps = p.steps.filter(working), kernels = steps.filter(step => step.kind === "kernel" || step.kind === "tuned").length;
    head.replaceChildren(...[el("h1", {}, data.name), fact("call", p.seconds && time(p.seconds)), fact("captured", p.stages.length && count(p.stages[0].nodes.filter(node => node.kind === "op").length, "op")),
      steps.length && fact("became", `${count(kernels, "kernel launch").replace(/launchs$/, "launches")}, ${count(steps.length - kernels, "other call")}`), fact("versions", String(data.versions.length)), fact("on", data.device),
      el("span", {class: "dim"}, `opweave ${data.opweave}, ${data.made}`), data.notes.map(note => el("span", {class: "dim"}, note)),
      el("nav", {}, Object.keys(tabs).map(name => el("button", {class: name === state.tab ? "on" : "", onclick: () => go(name)}, name)),
        el("span", {style: "flex:1"}),
        data.versions.length > 1 && data.versions.map((one, i) => el("button", {class: i === state.version ? "on" : "", onclick: () => { state.version = i; state.program = 0; draw(); overview(); }}, `version ${one.index}`)),
        v.programs.length > 1 && v.programs.map((one, i) => el("button", {class: i === state.program ? "on" : "", onclick: () => { state.program = i; state.stage = 0; state.open.clear(); draw(); overview(); }}, one.name)))].flat().filter(child => child));
    main.replaceChildren();
    tabs[state.tab]();
    // Who works with the keyboard goes on from the button that was pressed.
    if (name !== null) [...app.querySelectorAll("button")].find(button => button.textContent === name)?.focus({preventScroll: true});
  }
  const asked = decodeURIComponent(location.hash.slice(1));  // a link to a tab: report.html#Memory
  if (tabs[asked]) state.tab = asked;
  draw();
  overview();
}
(async () => {
  const plain = document.getElementById("plain"), source = document.getElementById("data");
  try {
    let text = source.textContent;
    if (source.dataset.form === "deflate") {
      if (typeof DecompressionStream === "undefined") throw new Error("this browser cannot inflate; write the report with compress=False");
      const packed = Uint8Array.from(atob(text), c => c.charCodeAt(0));
      text = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
    }
    source.textContent = "";
    plain.hidden = true;
    start(JSON.parse(text));
    document.body.dataset.ready = "yes";
  } catch (error) {
    plain.hidden = false;
    plain.prepend(`${error}\n\n`);
    document.body.dataset.ready = "failed";
  }
})();
