"use strict";
// The page of a run. The run is data: its names become text nodes and letters on a canvas, never markup.

const PAGE = 10; // moments that a page key moves by
const FRAME_MS = 90; // between two moments while playing
const MOST_CARDS = 24; // nodes; more are cells
const MOST_FOUND = 8;
const MOST_LISTED = 12; // rows of a list before the rest is folded
const JOB = ["state", "active", "preparing", "running", "succeeded", "failed",
  "prepared", "prepares", "prepFailed", "prepStopped", "prepTotal",
  "released", "releases", "releaseFailed", "releaseStopped", "releaseTotal", "problems"];
const POOL = ["state", "count", "target", "slots"];

const $ = (id) => document.getElementById(id);
let run; // what is read from the data
let at = 0; // the moment that is shown, by its number
let chosen = null; // the key of what is explained, such as "node:3"
let player = 0;

// -- small things ------------------------------------------------------------------------------------------------

/** Return a new element with properties, dataset or style values, and children: elements and texts. */
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "style") for (const [key, each] of Object.entries(value)) element.style.setProperty(key, each);
    else if (name.startsWith("aria-") || name === "role") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.filter((each) => each !== null && each !== ""));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";
function draw(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
const two = (number) => String(number).padStart(2, "0");

/** Return the time of day of a moment in ms, with the date after the first day, as the dashboard does. */
function clock(ms) {
  const when = new Date(run.start + ms), first = new Date(run.start);
  const time = `${two(when.getUTCHours())}:${two(when.getUTCMinutes())}:${two(when.getUTCSeconds())}`;
  const isFirst = when.toISOString().slice(0, 10) === first.toISOString().slice(0, 10);
  return isFirst ? time : `${when.toISOString().slice(0, 10)} ${time}`;
}

/** Return a duration: 8 s, 2:05, 1:02:05, 2d 03:04:05. */
function span(ms) {
  const all = Math.floor(ms / 1000), days = Math.floor(all / 86400), hours = Math.floor(all / 3600) % 24;
  const minutes = Math.floor(all / 60) % 60, seconds = all % 60;
  if (days) return `${days}d ${two(hours)}:${two(minutes)}:${two(seconds)}`;
  if (hours) return `${hours}:${two(minutes)}:${two(seconds)}`;
  return minutes ? `${minutes}:${two(seconds)}` : `${seconds} s`;
}

/** Return the sums of differences: the values that the page was made from. */
function sums(steps) {
  let last = 0;
  return steps.map((step) => (last += step));
}

/** Return how many of these rising values are at most a value. */
function places(values, value, first = 0, end = values.length) {
  while (first < end) {
    const middle = (first + end) >> 1;
    if (values[middle] <= value) first = middle + 1;
    else end = middle;
  }
  return first;
}

let colours = {};
function readColours() {
  const style = getComputedStyle(document.documentElement);
  colours = {};
  for (const name of ["ground", "surface", "line", "text", "dim", "accent", "ink-on", "running", "quiet", "preparing",
    "releasing", "ok", "failed", "transition", "off", "preempted", "plain"]) {
    colours[name] = style.getPropertyValue(`--${name}`).trim();
  }
}
const colourOf = (glyph) => colours[run.glyphs[glyph][1]] || colours.plain;
/** Return the colour of letters on the colour of a state. */
const inkOn = (glyph) => (run.glyphs[glyph][1] === "quiet" ? colours.text : colours["ink-on"]);
const inkOf = (glyph) => ({ failed: "ink-failed", ok: "ink-ok" })[run.glyphs[glyph][1]] || "ink-quiet";
const shade = (role) => `var(--${role})`;

/** Return the context of a canvas of this size in pixels of CSS, cleared. */
function canvas(element, width, height) {
  const ratio = Math.min(2, window.devicePixelRatio || 1);
  element.width = Math.max(1, Math.round(width * ratio));
  element.height = Math.max(1, Math.round(height * ratio));
  element.style.height = `${height}px`;
  const context = element.getContext("2d");
  context.scale(ratio, ratio);
  context.font = "11px system-ui, sans-serif";
  return context;
}

// -- reading -----------------------------------------------------------------------------------------------------

async function unpacked() {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("This browser cannot unpack the run. Open the page with Chrome or Edge 80, Firefox 113, "
      + "Safari 16.4, or any later one.");
  }
  const letters = atob($("data").textContent.replace(/\s+/g, ""));
  const bytes = new Uint8Array(letters.length);
  for (let place = 0; place < bytes.length; place++) bytes[place] = letters.charCodeAt(place);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

function read(data) {
  const moments = sums(data.moments);
  const table = (names, columns) => Object.fromEntries(names.map((name, number) => [name, sums(columns[number])]));
  const found = {
    ...data, moments, start: Date.parse(data.run.start), endMs: moments[moments.length - 1],
    totals: table(["total", "done", "bad", ...JOB.slice(1)], data.totals),
    pools: data.pools.map(([id, ...columns]) => ({ id, nodes: [], ...table(POOL, columns) })),
    jobs: data.jobs.map(([id, blocks, phases, ...columns]) => ({ id, blocks, phases, ...table(JOB, columns) })),
  };
  readNodes(found, data);
  found.byRow = new Map(found.nodes.map((node) => [node.row, node]));
  return found;
}

/** Read stretches and tasks of nodes. The tasks of a track follow each other: each is told by the gap before it. */
function readNodes(found, data) {
  const [gaps = [], lasts = [], tasks = [], failed = []] = data.spans;
  const begins = new Int32Array(gaps.length), ends = new Int32Array(gaps.length);
  let number = 0;
  found.nodes = data.nodes.map(([row, poolNumber, position, id, lengths, changes, glyphs]) => {
    const tracks = lengths.map((length) => {
      const first = number;
      let before = 0;
      for (; number < first + length; number++) {
        begins[number] = before + gaps[number];
        ends[number] = lasts[number] < 0 ? 0x7fffffff : begins[number] + lasts[number];
        before = ends[number];
      }
      return [first, number];
    });
    const node = { row, pool: found.pools[poolNumber], name: `n${position}`, position, id, tracks,
      changes: sums(changes), glyphs };
    node.pool.nodes.push(node);
    return node;
  });
  found.spans = { begins, ends, tasks, failed };
}

/** Return the number of the stretch of a node at a moment, or -1 before its first. */
const stretchAt = (node, ms) => places(node.changes, ms) - 1;

function glyphAt(node, ms) {
  const stretch = stretchAt(node, ms);
  return stretch < 0 ? -1 : node.glyphs[stretch];
}
/** Return true if a node is in its pool: it has come and not left. */
const isThere = (glyph) => glyph >= 0 && run.glyphs[glyph][0].trim() !== "" && run.glyphs[glyph][2] !== "left the pool";

/** Return the numbers of the tasks that run on a node at a moment. */
function tasksAt(node, ms) {
  const { begins, ends } = run.spans, found = [];
  for (const [first, end] of node.tracks) {
    const number = places(begins, ms, first, end) - 1;
    if (number >= first && ends[number] > ms) found.push(number);
  }
  return found.sort((one, other) => begins[one] - begins[other]);
}

const jobOfTask = (task) => run.jobs.find((job) => job.blocks.some(([first, stop]) => first <= task && task < stop));
/** Return a number of all jobs at the moment that is shown. */
const sum = (name) => run.totals[name][at];

// -- what is shown at a moment -----------------------------------------------------------------------------------

/** Show a moment by its number. */
function show(number) {
  at = Math.max(0, Math.min(run.moments.length - 1, number));
  const ms = run.moments[at];
  $("scrubber").value = at;
  $("scrubber").setAttribute("aria-valuetext", clock(ms));
  $("clock").replaceChildren(clock(ms), make("small", {}, `+${span(ms)}`));
  document.body.dataset.at = at;
  showFigures();
  showNodes();
  showAttention();
  showJobs();
  showWhy();
  for (const line of document.querySelectorAll("svg .now")) {
    const x = (100 * ms) / Math.max(1, run.endMs);
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
  }
  moveCursor();
  try {
    history.replaceState(null, "", `#${at}`);
  } catch { /* some browsers do not allow that in a file; the page works without it */ }
}

function figure(title, value, unit, notes, bar = null) {
  const told = notes.filter(([number]) => number).map(([number, word, kind]) =>
    make("span", { className: kind || "" }, make("b", { className: kind || "" }, number.toLocaleString("en")), ` ${word}  `));
  return make("div", { className: "figure" }, make("h3", {}, title),
    make("div", { className: "value" }, value, unit ? make("span", {}, ` ${unit}`) : ""),
    bar || "", make("div", { className: "note" }, ...(told.length ? told : [" "])));
}

/** Return a bar of parts: pairs of a number and a role. */
function bar(total, ...parts) {
  const filled = parts.filter(([number]) => number);
  return make("div", { className: "bar", "aria-hidden": "true" }, ...filled.map(([number, role]) =>
    make("i", { style: { width: `${(100 * number) / Math.max(1, total)}%`, background: shade(role) } })));
}

function showFigures() {
  const [total, succeeded, failed] = ["total", "done", "bad"].map(sum);
  const running = sum("running"), waiting = sum("active") + sum("preparing");
  const figures = [figure("Tasks done", (succeeded + failed).toLocaleString("en"), `of ${total.toLocaleString("en")}`,
    [[running, "running"], [waiting, "waiting"], [failed, "failed", "bad"]],
    bar(total, [succeeded, "ok"], [failed, "failed"], [running, "running"]))];
  const hooks = [["Preparation", "prepared", "prepares", "prepFailed", "prepStopped", "prepTotal"],
    ["Release", "released", "releases", "releaseFailed", "releaseStopped", "releaseTotal"]];
  for (const [title, done, runs, bad, stopped, all] of hooks) {
    if (run.totals[all].some(Boolean)) {
      figures.push(figure(title, sum(done).toLocaleString("en"), sum(all) ? `of ${counted(sum(all), "node")}` : "nodes",
        [[sum(runs), "running"], [sum(bad), "failed", "bad"], [sum(stopped), "stopped"]]));
    }
  }
  const inPools = (name) => run.pools.reduce((found, pool) => found + Math.max(0, pool[name][at]), 0);
  figures.push(figure("Nodes", inPools("count").toLocaleString("en"), `target ${inPools("target").toLocaleString("en")}`,
    [[inPools("slots"), inPools("slots") === 1 ? "slot in use" : "slots in use"]]));
  figures.push(figure("Cost so far", run.costs[at], "", []));
  $("figures").replaceChildren(...figures);
}

// -- nodes -------------------------------------------------------------------------------------------------------

let maps = []; // of pools: canvas, size of a cell, columns

function showNodes() {
  const ms = run.moments[at], counts = new Map();
  maps = [];
  const pools = run.pools.map((pool) => {
    const shown = pool.nodes.map((node) => [node, glyphAt(node, ms)]);
    const here = shown.filter(([, glyph]) => isThere(glyph));
    for (const [, glyph] of here) counts.set(glyph, (counts.get(glyph) || 0) + 1);
    const state = pool.state[at] < 0 ? "not there yet" : run.glyphs[pool.state[at]][2];
    const gone = shown.filter(([, glyph]) => glyph >= 0).length - here.length;
    const said = [state, counted(here.length, "node"), gone ? `${gone.toLocaleString("en")} left` : ""].filter(Boolean);
    const head = make("h3", {}, pool.id, make("span", {}, said.join(" · ")));
    const many = pool.nodes.length > MOST_CARDS;
    return make("div", { className: "pool" }, head, many ? mapOf(pool, shown) : cardsOf(here, ms));
  });
  $("nodes").replaceChildren(...pools);
  maps.forEach(drawMap);
  const order = [...counts].sort((one, other) => other[1] - one[1]);
  const entries = order.map(([glyph, count]) => make("li", {},
    make("i", { style: { background: colourOf(glyph) }, "aria-hidden": "true" }, symbolOf(glyph)), run.glyphs[glyph][2],
    make("b", {}, count.toLocaleString("en"))));
  const marked = concernedNodes().size;
  if (marked) entries.push(make("li", { className: "concerned" }, make("i"), "needs attention", make("b", {}, marked.toLocaleString("en"))));
  $("legend").replaceChildren(...entries);
}

/** Return the letter in a cell: of common states the colour says enough. */
const symbolOf = (glyph) => (["running", "idle"].includes(run.glyphs[glyph][2]) ? "" : run.glyphs[glyph][0]);

/** Return the rows of the nodes that something at this moment is about which needs attention. */
const concernedNodes = () => new Set(run.listed[at].filter((number) => run.concerns[number][0] !== "info").flatMap((number) => run.concerns[number][8]));

function cardsOf(here, ms) {
  const concerned = concernedNodes();
  return make("div", { className: "cards" }, ...here.map(([node, glyph]) => {
    const running = tasksAt(node, ms), { begins, tasks } = run.spans;
    const lines = running.slice(0, 2).map((number) =>
      make("small", {}, `${run.tasks[tasks[number]]}  ${span(ms - begins[number])}`));
    if (running.length > 2) lines[1].append(` and ${running.length - 2} more`);
    return make("button", { type: "button", className: concerned.has(node.row) ? "card concerned" : "card", "aria-pressed": chosen === `node:${node.row}`,
      style: { "--state": colourOf(glyph) }, onclick: () => choose(`node:${node.row}`) },
    make("b", {}, node.name), make("span", {}, run.glyphs[glyph][2]), ...lines);
  }));
}

function mapOf(pool, shown) {
  const element = make("canvas", { tabIndex: 0, role: "img" });
  element.setAttribute("aria-label", `${counted(pool.nodes.length, "node")} of pool ${pool.id}: arrow keys choose one, enter explains it`);
  const map = { element, pool, shown, cursor: maps.length in cursors ? cursors[maps.length] : -1, number: maps.length };
  element.onclick = (event) => chooseCell(map, event);
  element.onmousemove = (event) => sayCell(map, cellUnder(map, event));
  element.onmouseleave = () => sayCell(map, -1);
  element.onfocus = () => moveCell(map, Math.max(0, map.cursor));
  element.onkeydown = (event) => mapKey(map, event);
  maps.push(map);
  return element;
}
const cursors = {}; // the node under the cursor of each map, kept while moments change

function drawMap(map) {
  const { element, shown } = map, width = element.clientWidth || 600, count = shown.length;
  const sizes = [48, 40, 34, 28, 24, 20, 17, 14, 12, 10, 8, 7, 6, 5, 4];
  map.size = sizes.find((size) => Math.ceil(count / Math.floor(width / size)) * size <= 260) || 3;
  map.columns = Math.max(1, Math.floor(width / map.size));
  const rows = Math.ceil(count / map.columns), gap = map.size > 9 ? 2 : 1;
  const context = canvas(element, width, rows * map.size);
  context.textAlign = "center";
  context.textBaseline = "middle";
  shown.forEach(([, glyph], number) => {
    const x = (number % map.columns) * map.size, y = Math.floor(number / map.columns) * map.size;
    const inner = map.size - gap;
    if (!isThere(glyph)) {
      context.strokeStyle = colours.line;
      if (map.size > 6) context.strokeRect(x + 0.5, y + 0.5, inner - 1, inner - 1);
      return;
    }
    context.fillStyle = colourOf(glyph);
    context.beginPath();
    if (context.roundRect && map.size > 9) context.roundRect(x, y, inner, inner, 3);
    else context.rect(x, y, inner, inner);
    context.fill();
    if (map.size < 17) return;
    context.fillStyle = inkOn(glyph);
    const symbol = symbolOf(glyph); // a colour alone does not tell what is unusual
    if (map.size >= 34) {
      context.fillText(shown[number][0].name, x + inner / 2, y + inner / 2 + (symbol ? -6 : 0.5));
      context.fillText(symbol, x + inner / 2, y + inner / 2 + 7);
    } else {
      context.fillText(symbol, x + inner / 2, y + inner / 2 + 0.5);
    }
  });
  const concerned = concernedNodes(), side = map.size - gap, outline = map.size > 9 ? 2 : 1;
  context.lineWidth = outline;
  context.strokeStyle = colours.failed;
  shown.forEach(([node, glyph], number) => {
    const x = (number % map.columns) * map.size, y = Math.floor(number / map.columns) * map.size;
    if (isThere(glyph) && concerned.has(node.row)) context.strokeRect(x + outline / 2, y + outline / 2, side - outline, side - outline);
  });
  const marked = shown.findIndex(([node]) => chosen === `node:${node.row}`);
  for (const [number, colour] of [[marked, colours.accent], [document.activeElement === element ? map.cursor : -1, colours.text]]) {
    if (number < 0) continue;
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.strokeRect((number % map.columns) * map.size - 1, Math.floor(number / map.columns) * map.size - 1, map.size, map.size);
  }
}

function cellUnder(map, event) {
  const box = map.element.getBoundingClientRect();
  const column = Math.floor((event.clientX - box.left) / map.size), row = Math.floor((event.clientY - box.top) / map.size);
  const number = row * map.columns + column;
  return column >= 0 && column < map.columns && number < map.shown.length ? number : -1;
}
function chooseCell(map, event) {
  const number = cellUnder(map, event);
  if (number >= 0) choose(`node:${map.shown[number][0].row}`);
}
function sayCell(map, number) {
  $("node-said").textContent = number < 0 ? "" : said(map.shown[number][0]);
}
function moveCell(map, number) {
  cursors[map.number] = map.cursor = Math.max(0, Math.min(map.shown.length - 1, number));
  drawMap(map);
  sayCell(map, map.cursor);
}
function mapKey(map, event) {
  const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -map.columns, ArrowDown: map.columns }[event.key];
  if (by && map.cursor + by >= 0 && map.cursor + by < map.shown.length) moveCell(map, map.cursor + by);
  else if (event.key === "Enter") choose(`node:${map.shown[Math.max(0, map.cursor)][0].row}`, true);
  else if (!by) return;
  event.preventDefault();
  event.stopPropagation();
}

/** Return what a node does at the moment that is shown, in a line. */
function said(node) {
  const ms = run.moments[at], stretch = stretchAt(node, ms);
  if (stretch < 0) return `${node.name} of ${node.pool.id}: not in the pool yet`;
  const running = tasksAt(node, ms).map((number) => run.tasks[run.spans.tasks[number]]);
  const tasks = running.length ? `: ${running.slice(0, 4).join(", ")}${running.length > 4 ? ` and ${running.length - 4} more` : ""}` : "";
  return `${node.name} of ${node.pool.id}  ${run.glyphs[node.glyphs[stretch]][2]} since ${clock(node.changes[stretch])}${tasks}`;
}

// -- attention ---------------------------------------------------------------------------------------------------

const STATE_OF = { error: "failed", warning: "preparing", info: "quiet" };

function showAttention() {
  const listed = run.listed[at].map((number) => run.concerns[number]);
  $("attention-count").textContent = listed.length ? `${listed.length} at ${clock(run.moments[at])}` : "";
  const items = listed.map(([severity, text, effect, remedy, rules, since, kind, key]) => make("li", {}, make("button", {
    type: "button", className: "concern", style: { "--state": shade(STATE_OF[severity]) },
    onclick: () => kind && choose(`${kind}:${key}`), "aria-label": `${severity}: ${text}. ${effect}` },
  make("b", {}, text), effect ? make("span", {}, effect) : "",
  remedy ? make("span", { className: "helps" }, `What helps: ${remedy}`) : "",
  make("span", {}, `${since > run.moments[at] ? "at" : "since"} ${clock(since)}`, make("span", { className: "rule" }, rules.join(" "))))));
  const next = run.listed.findIndex((each, number) => number > at && each.length);
  const calm = make("li", {}, make("p", { className: "calm" }, "Nothing needs attention."),
    next > 0 ? make("p", { className: "dim" }, `The next that does comes by ${clock(run.moments[next])}.`) : "");
  $("attention").replaceChildren(...fold(items.length ? items : [calm], "li"));
}

/** Return the first of many rows, and the others in one that opens. */
function fold(rows, tag, most = MOST_LISTED) {
  if (rows.length <= most + 1) return rows;
  const rest = rows.slice(most);
  const folded = make("details", {}, make("summary", {}, `${rest.length.toLocaleString("en")} more`), ...rest);
  return [...rows.slice(0, most), tag === "li" ? make("li", {}, folded) : folded];
}

// -- jobs --------------------------------------------------------------------------------------------------------

const isOpen = (job) => !["completed", "deleted"].includes(run.glyphs[job.state[at]][2]);
const problems = (job) => job.problems[at];

function showJobs() {
  const here = run.jobs.filter((job) => job.state[at] >= 0);
  const open = here.filter(isOpen).sort((one, other) => (problems(other) > 0) - (problems(one) > 0));
  const done = here.filter((job) => !isOpen(job)).sort((one, other) => problems(other) - problems(one));
  const head = make("div", { className: "job head", "aria-hidden": "true" }, make("span"), make("span", {}, "job"),
    make("span", {}, "tasks"), make("span", { className: "number" }, "done"), make("span", { className: "number failed" }, "failed"),
    make("span", { className: "phases-head" }, "preparation, tasks, release"));
  const rows = here.length ? [head, ...fold([...open, ...done].map(jobRow), "div")] : [make("p", { className: "dim" }, "No job has been added yet.")];
  $("jobs").replaceChildren(...rows);
}

function jobRow(job) {
  const glyph = job.state[at], value = (name) => job[name][at];
  const total = ["active", "preparing", "running", "succeeded", "failed"].reduce((found, name) => found + value(name), 0);
  const done = value("succeeded") + value("failed"), share = (ms) => `${(100 * ms) / Math.max(1, run.endMs)}%`;
  const phases = make("span", { className: "phases", "aria-hidden": "true" });
  ["preparing", "running", "releasing"].forEach((role, number) => {
    const extent = job.phases[number];
    if (!extent) return;
    const end = extent[1] === null ? run.endMs : extent[1];
    phases.append(make("i", { style: { left: share(extent[0]), width: share(end - extent[0]), background: shade(role) } }));
  });
  phases.append(make("u", { style: { left: share(run.moments[at]) } }));
  const failed = [[value("failed"), "failed"], [value("prepFailed"), "prep failed"],
    [value("releaseFailed"), "release failed"]].filter(([number]) => number)
    .map(([number, word]) => `${number.toLocaleString("en")} ${word}`).join(", ");
  return make("button", { type: "button", className: "job", "aria-pressed": chosen === `job:${job.id}`,
    "aria-label": `job ${job.id}, ${run.glyphs[glyph][2]}, ${done} of ${total} tasks done${failed && `, ${failed}`}`, onclick: () => choose(`job:${job.id}`) },
  make("span", { className: inkOf(glyph) }, run.glyphs[glyph][0]), make("span", { className: "id" }, job.id),
  bar(total, [value("succeeded"), "ok"], [value("failed"), "failed"], [value("running"), "running"]),
  make("span", { className: "number" }, `${done.toLocaleString("en")} of ${total.toLocaleString("en")}`),
  make("span", { className: `number failed${failed ? " ink-failed" : ""}` }, failed), phases);
}

// -- why ---------------------------------------------------------------------------------------------------------

/** Explain something; with a key the text gets the focus, so that it is read next. */
function choose(key, focuses = false) {
  chosen = key;
  showNodes();
  showJobs();
  showWhy();
  drawTimeline();
  if (focuses || window.innerWidth <= 1080) $("why").focus({ preventScroll: false });
}

function link(text, key) {
  return make("button", { type: "button", className: "link", onclick: () => choose(key) }, text);
}

function showWhy() {
  const box = $("why-said");
  if (!chosen) {
    box.replaceChildren(make("p", { className: "dim" }, "Choose a node, a job or something that needs attention: what the rules say about it is shown here."));
    return;
  }
  const split = chosen.indexOf(":"), kind = chosen.slice(0, split), key = chosen.slice(split + 1);
  const told = { node: whyNode, task: whyTask, job: whyJob }[kind];
  box.replaceChildren(...(told ? told(key) : [make("h3", {}, `${kind} ${key}`)]), ...answer(run.answers[chosen], kind, key));
}

function rowsOf(rows) {
  return make("table", {}, make("tbody", {}, ...rows.map((cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, cell))))));
}

function whyNode(key) {
  const node = run.byRow.get(Number(key)), ms = run.moments[at], { begins, tasks } = run.spans;
  if (!node) return [];
  const stretch = stretchAt(node, ms), state = stretch < 0 ? "not in the pool yet" : run.glyphs[node.glyphs[stretch]][2];
  const running = tasksAt(node, ms).map((number) => [link(run.tasks[tasks[number]], `task:${tasks[number]}`), `since ${clock(begins[number])}`]);
  const since = stretch < 0 ? "" : ` since ${clock(node.changes[stretch])}`;
  return [make("h3", {}, `${node.name} of pool ${node.pool.id}`), make("p", { className: "dim" }, node.id),
    make("p", {}, `${clock(ms)}: ${state}${since}.`), running.length ? rowsOf(running) : ""];
}

function whyTask(key) {
  const task = Number(key), { begins, ends, tasks, failed } = run.spans, rows = [];
  for (const node of run.nodes) {
    for (const [first, end] of node.tracks) {
      for (let number = first; number < end; number++) {
        if (tasks[number] === task) rows.push([begins[number], ends[number], node, failed[number]]);
      }
    }
  }
  const job = jobOfTask(task), seen = rows.sort((one, other) => one[0] - other[0]).map(([begin, end, node, bad]) => [
    link(node.name, `node:${node.row}`), end > run.endMs ? `from ${clock(begin)}` : `${clock(begin)} to ${clock(end)}`,
    end > run.endMs ? "still runs" : bad ? make("span", { className: "ink-failed" }, "failed") : span(end - begin)]);
  return [make("h3", {}, `task ${run.tasks[task]}`), job ? make("p", {}, link(`job ${job.id}`, `job:${job.id}`)) : "",
    seen.length ? rowsOf(seen) : make("p", { className: "dim" }, "It has not run.")];
}

function whyJob(id) {
  const job = run.jobs.find((each) => each.id === id);
  if (!job || job.state[at] < 0) return [make("h3", {}, `job ${id}`), make("p", { className: "dim" }, "It is not there at this moment.")];
  const value = (name) => job[name][at], rows = [["active", "waiting"], ["preparing", "wait for preparation"], ["running", "running"],
    ["succeeded", "succeeded"], ["failed", "failed"]].filter(([name]) => value(name)).map(([name, word]) => [word, value(name).toLocaleString("en")]);
  const also = (name, word) => value(name) ? `, ${value(name)} ${word}` : "";
  const hook = (title, done, bad, stopped, all) => value(all)
    ? [[title, `${value(done)} of ${counted(value(all), "node")}${also(bad, "failed")}${also(stopped, "stopped")}`]] : [];
  return [make("h3", {}, `job ${id}`), make("p", {}, `${clock(run.moments[at])}: ${run.glyphs[job.state[at]][2]}.`),
    rowsOf([...rows, ...hook("preparation", "prepared", "prepFailed", "prepStopped", "prepTotal"),
      ...hook("release", "released", "releaseFailed", "releaseStopped", "releaseTotal")])];
}

const SIGNS = { true: "✓", false: "✗", null: "·" };

/** Return what the rules say at the end, as ``batchdeck why`` does. */
function answer(found, kind, key) {
  if (!found || !found.findings.length) {
    const name = kind === "task" ? `task:${(jobOfTask(Number(key)) || { id: "JOB" }).id}/${run.tasks[Number(key)]}` : kind === "node" ? `node:${run.byRow.get(Number(key)).pool.id}/${run.byRow.get(Number(key)).position}` : `${kind}:${key}`;
    return [make("p", { className: "dim asof" }, "Nothing more is kept about it in this page. Ask for it: "), make("code", {}, `batchdeck why SCENARIO ${name}`)];
  }
  const parts = [make("p", { className: "dim asof" }, `As of ${clock(run.endMs)}, where this page ends:`)];
  let question = null, list = null;
  for (const one of found.findings) {
    if (one.question !== question) {
      question = one.question;
      list = make("ul");
      parts.push(make("h4", {}, question), list);
    }
    list.append(make("li", {}, make("span", { className: `sign-${one.ok}`, "aria-label": one.ok === false ? "not met" : one.ok ? "met" : "note" }, SIGNS[one.ok]),
      make("span", {}, one.what ? `${one.what}: ${one.says}` : one.says, one.rules.length ? make("span", { className: "rule" }, one.rules.join(" ")) : "")));
  }
  if (found.next) parts.push(make("p", {}, `Next: ${found.next.says} at ${clock(found.next.at * 1000)}.`));
  return parts;
}

// -- curves, timeline, density: drawn once -----------------------------------------------------------------------

function compact(value) {
  if (value >= 10000) return `${Number((value / 1000).toPrecision(3))}k`;
  return value >= 100 || value % 1 === 0 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(2)));
}
/** Return a round number a little above the highest value; a whole one for what is counted. */
function roundTop(value, isCount) {
  const power = 10 ** Math.floor(Math.log10(isCount ? Math.max(1, value) : value));
  return [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12].map((step) => step * power)
    .find((top) => top >= value * 1.02 && !(isCount && top % 1));
}

function showCurves() {
  const axis = () => make("div", { className: "edge", "aria-hidden": "true" }, make("span", {}, clock(0)), make("span", {}, clock(run.endMs)));
  $("curves").replaceChildren(...run.curves.map(([title, edges, areas]) => {
    const count = areas[0][2].length, totals = Array.from({ length: count }, (_, column) => areas.reduce((found, area) => found + area[2][column], 0));
    const top = roundTop(Math.max(...totals, 1e-9), !title.startsWith("Cost")), x = (column) => (100 * edges[column]) / Math.max(1, run.endMs);
    const y = (value) => (84 * (1 - value / top)).toFixed(2), below = new Array(count).fill(0), drawn = [];
    const shown = areas.filter((area) => area[2].some(Boolean));
    for (const [, role, values] of shown) {
      const low = below.slice(), line = [], base = [];
      let edge = ""; // a line on top, where there is something
      values.forEach((value, column) => {
        below[column] += value;
        const left = x(column).toFixed(2), right = x(column + 1).toFixed(2), high = y(below[column]);
        if (value) edge += `${values[column - 1] ? "" : `M${left} ${y(low[column])}`}L${left} ${high}L${right} ${high}`;
        if (value && column + 1 < count && !values[column + 1]) edge += `L${right} ${y(low[column])}`;
        line.push(`${left} ${high}`, `${right} ${high}`);
        base.unshift(`${right} ${y(low[column])}`, `${left} ${y(low[column])}`);
      });
      drawn.push(draw("path", { class: "area", fill: shade(role), d: `M${line.join("L")}L${base.join("L")}Z` }));
      drawn.push(draw("path", { class: "edge-line", stroke: shade(role === "quiet" ? "off" : role), d: edge }));
    }
    const grid = [0, 42, 84].map((height) => draw("line", { class: "grid", x1: 0, x2: 100, y1: height, y2: height }));
    const picture = draw("svg", { viewBox: "0 0 100 84", preserveAspectRatio: "none", role: "img", "aria-label": `${title}, up to ${compact(Math.max(...totals))}` },
      ...grid, ...drawn, draw("line", { class: "now", x1: 0, x2: 0, y1: 0, y2: 84 }));
    const names = shown.length > 1 ? shown.map(([name, role]) => make("em", {}, make("i", { style: { background: shade(role) } }), name)) : [];
    return make("figure", { className: "curve" }, make("figcaption", {}, make("b", {}, title), make("span", {}, ...names)),
      make("div", { className: "plot" }, picture, make("span", { className: "top", "aria-hidden": "true" }, title.startsWith("Cost in ") ? `${compact(top)} ${title.slice(8)}` : compact(top))), axis());
  }));
}

function showDensity() {
  const element = $("density"), width = element.clientWidth, height = 40, context = canvas(element, width, height);
  const { done: succeeded, bad: failed } = run.totals, last = Math.max(1, run.moments.length - 1);
  const done = run.moments.map((_, number) => number ? Math.max(0, succeeded[number] + failed[number] - succeeded[number - 1] - failed[number - 1]) : 0);
  const top = Math.max(1, ...done), wide = (width - 4) / last;
  const x = (number) => 2 + (number - 1) * wide;
  done.forEach((value, number) => {
    if (!number) return;
    const high = value ? 3 + (24 * value) / top : 1;
    context.fillStyle = value ? colours.running : colours.line;
    context.globalAlpha = value ? 0.55 : 1;
    context.fillRect(x(number), height - 8 - high, Math.max(1, wide - (wide > 4 ? 1 : 0)), high);
  });
  context.globalAlpha = 1;
  const seen = new Set();
  run.listed.forEach((listed, number) => {
    const fresh = listed.filter((each) => !seen.has(run.concerns[each].slice(6).join()) && run.concerns[each][0] !== "info");
    for (const each of listed) seen.add(run.concerns[each].slice(6).join());
    if (!fresh.length) return;
    const isBad = fresh.some((each) => run.concerns[each][0] === "error");
    context.fillStyle = isBad ? colours.failed : colours.preparing;
    context.beginPath();
    context.arc(Math.max(4, Math.min(width - 4, x(number) + wide / 2)), height - 3, 2.5, 0, 7);
    context.fill();
  });
}

const GUTTER = 56, HEADING = 20;
let lane = { high: 0, height: 0, cursor: 0 };

function drawTimeline() {
  const width = $("lanes").clientWidth, count = run.nodes.length, element = $("timeline");
  const high = count > 2000 ? 1 : Math.max(2, Math.min(22, Math.floor(440 / Math.max(1, count))));
  const heading = run.pools.length > 1 ? HEADING : 0; // names of pools, where there are several
  run.nodes.forEach((node, row) => { node.y = row * high + (run.pools.indexOf(node.pool) + 1) * heading; });
  lane.height = Math.max(1, count * high + run.pools.length * heading);
  const context = canvas(element, width, lane.height), room = width - GUTTER;
  const x = (ms) => GUTTER + (room * Math.min(ms, run.endMs)) / Math.max(1, run.endMs);
  lane.high = high;
  context.textBaseline = "middle";
  for (const pool of heading ? run.pools.filter((each) => each.nodes.length) : []) {
    context.fillStyle = colours.text;
    context.fillText(pool.id, 0, pool.nodes[0].y - heading / 2);
  }
  for (const node of run.nodes) drawLane(context, node, node.y, high, x);
  const ticks = canvas($("axis"), width, 20), every = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800]
    .map((seconds) => seconds * 1000).find((step) => (step * room) / Math.max(1, run.endMs) >= 90) || run.endMs || 1;
  ticks.fillStyle = colours.dim;
  const first = (every - (run.start % every)) % every;
  for (let ms = first; ms <= run.endMs; ms += every) {
    if (x(ms) < width - 52) ticks.fillText(clock(ms), x(ms), 11);
    ticks.fillRect(x(ms), 15, 1, 5);
  }
  const seen = new Set(run.nodes.flatMap((node) => node.glyphs).filter(isThere));
  $("lane-legend").replaceChildren(...[...seen].sort((one, other) => one - other).map((glyph) => make("li", {},
    make("i", { style: { background: colourOf(glyph) }, "aria-hidden": "true" }, symbolOf(glyph)), run.glyphs[glyph][2])));
  moveCursor();
}

function drawLane(context, node, y, high, x) {
  const tall = high - (high > 6 ? 3 : high > 2 ? 1 : 0), { begins, ends, tasks, failed } = run.spans;
  const isChosen = chosen === `node:${node.row}`;
  if (high >= 11) {
    context.fillStyle = isChosen ? colours.accent : colours.dim;
    context.fillText(node.name, 0, y + high / 2);
  } else if (isChosen) {
    context.fillStyle = colours.accent;
    context.fillRect(GUTTER - 8, y, 6, Math.max(2, high));
  }
  const failures = [], longest = Math.max(0, ...node.tracks.map(([first, end]) => end - first));
  // Tasks stand apart where they can be told apart.
  const apart = longest > 0 && tall / node.tracks.length >= 3 && (x(run.endMs) - x(0)) / longest >= 12;
  node.changes.forEach((begin, number) => {
    const end = number + 1 < node.changes.length ? node.changes[number + 1] : run.endMs, glyph = node.glyphs[number];
    const [, role, name] = run.glyphs[glyph];
    if (end <= begin) {
      if (role === "failed") failures.push(begin);
      return;
    }
    if (!isThere(glyph)) return;
    const isIdle = role === "quiet";
    context.fillStyle = colours[role];
    const left = x(begin), wide = Math.max(isIdle ? 0 : 1, x(end) - left);
    if (isIdle) context.fillRect(left, y + Math.floor(tall / 2), wide, 1);
    else if (name !== "running" || !apart) context.fillRect(left, y, wide, tall);
  });
  if (apart) {
    const each = tall / node.tracks.length;
    node.tracks.forEach(([first, end], track) => {
      for (let number = first; number < end; number++) {
        const left = x(begins[number]), wide = Math.max(1, x(ends[number]) - left - 1), top = y + track * each;
        context.fillStyle = failed[number] ? colours.failed : colours.running;
        context.fillRect(left, top, wide, Math.max(1, each - (each > 3 ? 1 : 0)));
        if (each >= 14 && wide > 40) {
          context.save();
          context.beginPath();
          context.rect(left, y, wide - 3, high);
          context.clip();
          context.fillStyle = colours["ink-on"];
          context.fillText(run.tasks[tasks[number]], left + 5, top + each / 2 + 0.5);
          context.restore();
        }
      }
    });
  }
  context.fillStyle = colours.failed;
  for (const ms of failures) context.fillRect(x(ms) - 1, y, 2, tall);
}

/** Put the line of the moment on the timeline; what comes later is paler. */
function moveCursor() {
  const width = $("lanes").clientWidth, left = GUTTER + ((width - GUTTER) * run.moments[at]) / Math.max(1, run.endMs);
  const later = $("later");
  later.style.left = `${Math.min(width - 1, left)}px`;
  later.style.height = `${lane.height}px`;
}

function laneKey(event) {
  const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (by) {
    lane.cursor = Math.max(0, Math.min(run.nodes.length - 1, lane.cursor + by));
    $("lane-said").textContent = run.nodes.length ? said(run.nodes[lane.cursor]) : "";
    const top = run.nodes.length ? run.nodes[lane.cursor].y : 0, box = $("lanes");
    box.scrollTop = Math.max(Math.min(box.scrollTop, top), top + lane.high - box.clientHeight);
  } else if (event.key === "Enter" && run.nodes.length) {
    choose(`node:${run.nodes[lane.cursor].row}`, true);
  } else {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
}

function laneUnder(event) {
  const box = $("timeline").getBoundingClientRect(), y = event.clientY - box.top;
  const ms = ((event.clientX - box.left - GUTTER) * run.endMs) / Math.max(1, box.width - GUTTER);
  return [run.nodes.find((node) => node.y <= y && y < node.y + lane.high), ms];
}
function hoverLane(event) {
  const [node, ms] = laneUnder(event);
  if (!node || ms < 0) return;
  const glyph = glyphAt(node, ms), running = tasksAt(node, ms).map((number) => run.tasks[run.spans.tasks[number]]);
  $("lane-said").textContent = `${node.name}  ${clock(ms)}  ${glyph < 0 ? "not in the pool yet" : run.glyphs[glyph][2] || "not in the pool"}`
    + (running.length ? `: ${running.slice(0, 4).join(", ")}` : "");
}
function clickLane(event) {
  const [node, ms] = laneUnder(event);
  if (!node) return;
  chosen = `node:${node.row}`;
  show(ms < 0 ? at : Math.max(0, places(run.moments, ms) - 1));
  drawTimeline();
}

// -- finding -----------------------------------------------------------------------------------------------------

function find() {
  const wanted = $("find").value.trim().toLowerCase(), found = [];
  if (wanted) {
    const add = (key, name, kind) => found.length < MOST_FOUND && found.push([key, name, kind]);
    for (const isWhole of [true, false]) {
      const matches = (text) => isWhole ? text.toLowerCase() === wanted : text.toLowerCase().includes(wanted) && text.toLowerCase() !== wanted;
      for (const job of run.jobs) if (matches(job.id)) add(`job:${job.id}`, job.id, "job");
      for (const node of run.nodes) if (isWhole ? matches(node.name) || matches(node.id) : matches(node.id)) add(`node:${node.row}`, node.name, `node of ${node.pool.id}`);
      for (let task = 0; task < run.tasks.length && found.length < MOST_FOUND; task++) if (matches(run.tasks[task])) add(`task:${task}`, run.tasks[task], "task");
    }
  }
  const rows = found.map(([key, name, kind]) => make("li", {}, make("button", { type: "button",
    onclick: () => { $("find").value = ""; find(); choose(key, true); } }, name, make("span", { className: "dim" }, kind))));
  $("found").replaceChildren(...(rows.length ? rows : [make("li", {}, make("p", {}, "Nothing has this name."))]));
  $("found").hidden = !wanted;
}

function findKey(event) {
  if (event.key === "Escape") { $("find").value = ""; find(); $("scrubber").focus(); }
  else if (event.key === "Enter" || event.key === "ArrowDown") {
    const first = $("found").querySelector("button");
    if (first) event.key === "Enter" ? first.click() : first.focus();
  } else return;
  event.preventDefault();
}

// -- time --------------------------------------------------------------------------------------------------------

function play(isOn = !player) {
  clearInterval(player);
  player = 0;
  if (isOn) {
    if (at === run.moments.length - 1) show(0);
    player = setInterval(() => (at < run.moments.length - 1 ? show(at + 1) : play(false)), FRAME_MS);
  }
  $("play").setAttribute("aria-label", isOn ? "Pause" : "Play");
  $("play").firstElementChild.textContent = isOn ? "❚❚" : "▶";
}

/** Go to the next moment, or the one before, at which another list needs attention. */
function toChange(by) {
  const told = (number) => run.listed[number].map((each) => run.concerns[each].slice(6).join()).join(";");
  for (let number = at + by; number >= 0 && number < run.moments.length; number += by) {
    if (told(number) !== told(number - by)) return show(number);
  }
}

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.id === "find") return;
  const onButton = event.target.tagName === "BUTTON" || event.target.tagName === "SUMMARY";
  const actions = {
    ArrowLeft: () => show(at - 1), ArrowRight: () => show(at + 1), PageUp: () => show(at + PAGE), PageDown: () => show(at - PAGE),
    Home: () => show(0), End: () => show(run.moments.length - 1), n: () => toChange(1), p: () => toChange(-1),
    "/": () => $("find").focus(), Escape: () => { chosen = null; show(at); drawTimeline(); },
  };
  if (!onButton) actions[" "] = () => play();
  const action = actions[event.key];
  if (!action) return;
  if (event.key !== " " && player) play(false);
  action();
  event.preventDefault();
}

// -- the beginning -----------------------------------------------------------------------------------------------

function showAll() {
  readColours();
  showCurves();
  showDensity();
  show(at);
  drawTimeline();
}

function begin(data) {
  run = read(data);
  $("name").textContent = run.run.variant ? `${run.run.name}, ${run.run.variant}` : run.run.name;
  $("description").textContent = run.run.description;
  const days = new Date(run.start).toLocaleDateString("en-GB", { timeZone: "UTC", dateStyle: "full" });
  $("about").textContent = `${run.run.end} Seed ${run.run.seed}, ${days}, times are UTC. Made by batchdeck; this page loads nothing and works offline.`;
  $("last").textContent = clock(run.endMs);
  $("notes").textContent = run.run.notes.join(" ");
  $("scrubber").max = run.moments.length - 1;
  $("expected").hidden = !run.expectations.length;
  $("expectations").replaceChildren(...run.expectations.map(([glyph, told]) => make("li", {},
    make("span", { className: inkOf(glyph), "aria-label": run.glyphs[glyph][2] }, run.glyphs[glyph][0]), make("span", {}, told))));
  $("page").hidden = false;
  const wanted = location.hash.slice(1);
  at = /^\d+$/.test(wanted) ? Math.min(Number(wanted), run.moments.length - 1) : run.moments.length - 1;
  showAll();
  $("scrubber").oninput = () => show(Number($("scrubber").value));
  $("play").onclick = () => play();
  $("find").oninput = find;
  $("find").onkeydown = findKey;
  $("lanes").onkeydown = laneKey;
  $("timeline").onmousemove = hoverLane;
  $("timeline").onclick = clickLane;
  document.addEventListener("keydown", key);
  window.addEventListener("hashchange", () => /^#\d+$/.test(location.hash) && show(Number(location.hash.slice(1))));
  let waits = 0;
  window.addEventListener("resize", () => { clearTimeout(waits); waits = setTimeout(showAll, 60); });
  matchMedia("(prefers-color-scheme: light)").addEventListener("change", showAll);
  window.addEventListener("beforeprint", () => { document.documentElement.dataset.theme = "print"; showAll(); });
  window.addEventListener("afterprint", () => { delete document.documentElement.dataset.theme; showAll(); });
  document.body.dataset.ready = "yes";
  document.dispatchEvent(new Event("shown"));
}

unpacked().then(begin).catch((error) => {
  $("notice").textContent = error.message;
  $("notice").hidden = false;
  throw error;
});
