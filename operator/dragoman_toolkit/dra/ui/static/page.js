"use strict";
// Filters, details and live updates. The server renders every part; values are shown as text only.
const $ = (id) => document.getElementById(id);
const grid = $("grid"), form = $("filters");
const details = new Map(Object.entries(JSON.parse($("details").textContent)));
const rows = new Map([...grid.querySelectorAll(".node")].map((row) => [row.dataset.node, row]));
const groups = new Map([...grid.querySelectorAll(".group")].map((one) => [one.dataset.group, one]));
const narrow = matchMedia("(max-width: 60rem)").matches;
const PAGE = narrow ? { attention: 30, used: 40, free: 40 } : { attention: 60, used: 150, free: 100 }; // nodes of a group that are shown at first
const DENSE = 60; // groups of more nodes have one line for each
const FOLDED = 12; // a group of more free nodes is folded at first
const limits = { ...PAGE };
const FEW = 8; // a wide page shows so many namespaces at first
const WIDEST = 40; // letters of a name that a line makes room for
const folded = new Set(groups.get("free").querySelectorAll(".node").length > FOLDED ? ["free"] : []);
const dotsOf = (row) => row.querySelectorAll(".dots > .dot");
const known = new WeakMap(); // states of the devices of a row
function statesOf(row) {
  if (!known.has(row)) known.set(row, [...dotsOf(row)].map((dot) => dot.classList[1]));
  return known.get(row);
}
const seen = (element) => !element.hidden && !element.closest("[hidden]");
let revision = Number(document.documentElement.dataset.revision);
let current = null; // the dot that Tab reaches
let shown = null; // [row, place] of the device in the panel
let troubled = ""; // why the page is not current

// Text ------------------------------------------------------------------------------------------
function plain(text) {
  return String(text).replace(/\p{C}/gu, (sign) => "\\x" + sign.codePointAt(0).toString(16));
}
function make(tag, text, parent) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = plain(text);
  if (parent) parent.append(made);
  return made;
}
const UNITS = [["second", 1, 120], ["minute", 60, 7200], ["hour", 3600, 172800], ["day", 86400, Infinity]];
function span(seconds, long) {
  const [unit, size] = UNITS.find(([name, , limit]) => seconds < (long && name === "hour" ? 86400 : limit));
  const count = Math.max(Math.floor(seconds / size), 0);
  return long ? `${count} ${unit}${count === 1 ? "" : "s"}` : count + unit[0];
}
function age(time) {
  const past = (Date.parse($("taken").dateTime) - Date.parse(time)) / 1000;
  return Number.isNaN(past) ? time : span(past, false);
}
function old() {
  const past = (Date.now() - Date.parse($("taken").dateTime)) / 1000;
  return Number.isNaN(past) ? "of unknown age" : span(past, true) + " old";
}
function ages() {
  for (const time of document.querySelectorAll("#waiting time, #problems time")) time.textContent = age(time.dateTime);
  const taken = new Date($("taken").dateTime);
  if (!Number.isNaN(taken.getTime())) $("taken").textContent = taken.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  $("age").textContent = document.documentElement.dataset.kind === "snapshot" || !revision || troubled ? ", " + old() : "";
  if (troubled) $("trouble").textContent = `${troubled} The page shows data that is ${old()}.`;
}

// Filters ---------------------------------------------------------------------------------------
function wanted() {
  const chosen = $("class").selectedOptions[0];
  return {
    number: chosen && chosen.dataset.number !== undefined ? Number(chosen.dataset.number) : null,
    namespace: $("namespace").value,
    node: $("node").value.trim().toLowerCase(),
    states: new Set([...form.querySelectorAll("[name=state]:checked")].map((box) => box.value)),
  };
}
function filter() {
  const want = wanted();
  const all = !want.namespace && want.number === null && [...form.querySelectorAll("[name=state]")].every((box) => box.checked);
  let devices = 0, nodes = 0, total = 0;
  const sums = new Map([...groups.keys()].map((name) => [name, { nodes: 0, devices: 0, free: 0, rest: 0 }]));
  for (const [name, row] of rows) {
    const of = details.get(name) || [], sum = sums.get(row.dataset.group);
    const states = statesOf(row);
    const matches = states.map((state, place) => want.states.has(state)
      && (want.number === null || (of[place]?.classes || []).includes(want.number))
      && (!want.namespace || (of[place]?.holders || []).some((one) => one.namespace === want.namespace)));
    const count = matches.filter(Boolean).length, free = matches.filter((one, place) => one && states[place] === "free").length;
    total += states.length;
    const visible = name.toLowerCase().includes(want.node) && (all || count > 0);
    if (visible) { nodes += 1; devices += count; sum.nodes += 1; sum.devices += count; sum.free += free; }
    const placed = visible && sum.nodes <= limits[row.dataset.group];
    sum.rest += visible && !placed;
    if (row.hidden === placed) row.hidden = !placed;
    if (placed) dotsOf(row).forEach((dot, place) => { if (dot.hidden === matches[place]) dot.hidden = !matches[place]; });
  }
  for (const [name, group] of groups) {
    const sum = sums.get(name), many = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
    group.hidden = !sum.nodes;
    group.querySelector(".sum").textContent = `${many(sum.nodes, "node")}, ${name === "free" ? "" : sum.free.toLocaleString("en") + " of "}${many(sum.devices, "device")} free`;
    const rest = group.querySelector(".rest"), closed = folded.has(name) && !want.node;
    group.querySelector(".fold").setAttribute("aria-expanded", String(!closed));
    group.querySelector(".rows").hidden = closed;
    group.querySelector(".rows").classList.toggle("dense", sum.nodes > DENSE);
    rest.hidden = closed || !sum.rest;
    rest.firstElementChild.textContent = `Show ${Math.min(sum.rest, PAGE[name]).toLocaleString("en")} more of ${many(sum.rest, "hidden node")}`;
  }
  for (const pod of document.querySelectorAll("#waiting details"))
    pod.hidden = (want.namespace && pod.dataset.namespace !== want.namespace)
      || (want.number !== null && !pod.dataset.classes.split(" ").includes(String(want.number)));
  $("shown").textContent = `${devices} of ${total} devices on ${nodes} of ${rows.size} nodes`;
  document.documentElement.classList.add("ready");
  if (!current || !current.isConnected || !seen(current)) reach([...grid.querySelectorAll(".node:not([hidden]) .dots > .dot:not([hidden])")].find(seen));
}
function measure() { // lines of the map have room for the longest name
  const longest = Math.max(0, ...[...rows.keys()].filter((name) => !name.startsWith("(")).map((name) => name.length));
  grid.style.setProperty("--name", Math.min(longest, WIDEST) + "ch");
}
function rove(box) { // one stop of Tab for all states
  const boxes = [...form.querySelectorAll("[name=state]")].filter(seen);
  const stop = boxes.includes(box) ? box : boxes[0];
  for (const one of boxes) one.tabIndex = one === stop ? 0 : -1;
  return boxes;
}
form.addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!step || !event.target.matches("[name=state]")) return;
  const boxes = rove(event.target), next = boxes[(boxes.indexOf(event.target) + step + boxes.length) % boxes.length];
  rove(next);
  next.focus();
  event.preventDefault();
});
function remember() {
  const want = wanted(), found = new URLSearchParams();
  if ($("class").value) found.set("class", $("class").value);
  if (want.namespace) found.set("namespace", want.namespace);
  if (want.node) found.set("node", want.node);
  history.replaceState(null, "", "#" + found);
}
function recall() {
  const found = new URLSearchParams(location.hash.slice(1));
  for (const name of ["class", "namespace", "node"]) if (found.has(name)) $(name).value = found.get(name);
}

// The map ---------------------------------------------------------------------------------------
function reach(dot) {
  if (current) current.tabIndex = -1;
  current = dot || null;
  if (current) current.tabIndex = 0;
}
function move(dot, rowStep, dotStep) {
  const lines = [...rows.values()].filter((row) => !row.hidden).map((row) => [...dotsOf(row)].filter(seen)).filter((line) => line.length);
  const line = lines.findIndex((one) => one.includes(dot)), place = lines[line].indexOf(dot);
  let next;
  if (rowStep) {
    const target = lines[Math.min(Math.max(line + rowStep, 0), lines.length - 1)];
    next = target[Math.min(place, target.length - 1)];
  } else if (Math.abs(dotStep) > 1) next = lines[line].at(dotStep > 0 ? -1 : 0);
  else next = lines.flat()[lines.flat().indexOf(dot) + dotStep];
  if (!next) return;
  reach(next);
  next.focus();
  next.closest(".node").scrollIntoView({ block: "nearest" });
}
const STEPS = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0], Home: [0, -2], End: [0, 2], PageDown: [10, 0], PageUp: [-10, 0] };
grid.addEventListener("keydown", (event) => {
  if (!event.target.matches(".dot") || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key in STEPS) move(event.target, ...STEPS[event.key]);
  else if (event.key === "Enter" && event.target.classList.contains("chosen")) $("close").focus();
  else if (event.key === "Enter" || event.key === " ") choose(event.target);
  else return;
  event.preventDefault();
});
grid.addEventListener("click", (event) => {
  const group = event.target.closest("button")?.closest(".group")?.dataset.group;
  if (group && event.target.matches(".fold")) { if (!folded.delete(group)) folded.add(group); filter(); }
  if (group && event.target.matches(".more")) { limits[group] += PAGE[group]; filter(); }
  if (!event.target.matches(".dot")) return;
  reach(event.target);
  choose(event.target);
});
grid.addEventListener("focusin", ({ target }) => { if (target.matches(".dot")) reach(target); }); // however it got there
grid.addEventListener("mouseover", ({ target }) => {
  if (target.matches(".dot")) target.title = target.getAttribute("aria-label");
  if (target.matches(".holders, .problem, .name b")) target.title = target.textContent;
});
document.addEventListener("keydown", (event) => { if (event.key === "Escape" && shown) close(); });
document.addEventListener("click", (event) => {
  if (!event.target.closest(".all button")) return; // a narrow page shows some pods at first
  const next = [...document.querySelectorAll("#waiting summary")].find((one) => !one.offsetParent && !one.parentElement.hidden);
  document.documentElement.dataset.pods = "all";
  next?.focus();
});

// The panel -------------------------------------------------------------------------------------
function choose(dot) {
  const row = dot.closest(".node");
  shown = [row.dataset.node, [...dotsOf(row)].indexOf(dot)];
  panel();
  dot.scrollIntoView({ block: "nearest" }); // a sheet at the bottom leaves it visible
}
function close() {
  shown = null;
  panel();
  if (current) current.focus();
}
function panel() {
  const row = shown && rows.get(shown[0]);
  const dot = row && dotsOf(row)[shown[1]];
  for (const one of grid.querySelectorAll(".chosen")) one.classList.remove("chosen");
  const box = $("device");
  const focus = box.contains(document.activeElement) ? identity(document.activeElement) : "";
  box.replaceChildren();
  document.documentElement.classList.toggle("sheet", Boolean(dot));
  if (!dot) {
    shown = null;
    make("p", "Choose a device to see what holds it.", box).className = "quiet";
    if (focus && current) current.focus();
    return;
  }
  dot.classList.add("chosen");
  const device = details.get(shown[0])[shown[1]];
  const button = make("button", "×", box);
  button.id = "close";
  button.type = "button";
  button.setAttribute("aria-label", "Close");
  button.addEventListener("click", close);
  make("h3", device.id, box);
  const list = make("dl", undefined, box);
  const say = (term, values) => { if (values.length) { make("dt", term, list); for (const value of values) make("dd", value, list); } };
  const state = dot.getAttribute("aria-label").slice(dot.getAttribute("aria-label").indexOf(": ") + 2);
  const link = (kind, key) => { // of the last object that was said
    if (!revision || document.documentElement.dataset.kind === "snapshot") return;
    const [name, namespace] = key.split("/").reverse();
    const found = make("a", "YAML, Events", list.lastElementChild);
    found.href = "object?" + new URLSearchParams({ kind, namespace: namespace || "", name });
    found.className = "raw";
    found.target = "_blank";
    found.rel = "noopener noreferrer";
    found.setAttribute("aria-label", `YAML, Events of ${kind} ${plain(name)}`);
  };
  say("State", [state]);
  say("Node", [shown[0]]);
  if (!shown[0].startsWith("(")) link("Node", shown[0]);
  for (const holder of device.holders || []) {
    say(holder.admin ? "Claim, with admin access" : "Claim", [`${holder.claim}, since ${age(holder.since || "")}`]);
    link("ResourceClaim", holder.claim);
    for (const pod of holder.pods || []) {
      say("Pod", [pod.replace(" ", ", containers: ")]);
      link("Pod", pod.split(" ")[0]);
    }
    say("Share", Object.entries(holder.consumed || {}).map(([name, amount]) => `${name} ${amount}`));
  }
  say("Taints", (device.taints || []).filter((taint) => !state.includes(taint)));
  const names = [...$("class").options].slice(1).map((option) => option.value);
  say("Classes", (device.classes || []).map((number) => names[number]));
  for (const [name, value] of Object.entries(device.attributes || {})) say(name, [value]);
  const command = make("p", undefined, box);
  command.className = "command";
  make("code", `kubectl dra explain device ${device.id}`, command);
  const copy = make("button", "Copy", command);
  copy.type = "button";
  copy.className = "copy";
  if (focus) (identity(copy) === focus ? copy : button).focus();
}
async function copied(button) {
  try {
    await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
    button.textContent = "Copied";
  } catch { getSelection().selectAllChildren(button.parentElement.querySelector("code")); }
}
document.addEventListener("click", ({ target }) => {
  if (target.matches(".copy")) copied(target);
  if (target.matches(".pick")) pick(target);
});
function pick(button) { // from a row of a table to its devices on the map
  const choice = $(button.dataset.filter);
  choice.value = button.textContent;
  if (choice.selectedIndex < 0) choice.value = "";
  filter();
  remember();
  $("map-title").focus();
  $("map-title").scrollIntoView({ block: "start" });
}
function copies() { for (const one of document.querySelectorAll(".copy[hidden]")) one.hidden = false; }

// Live ------------------------------------------------------------------------------------------
function parsed(html) {
  const template = document.createElement("template");
  template.innerHTML = html; // rendered and escaped by the server; the policy forbids its scripts
  return template.content.firstElementChild;
}
function section(name, html) {
  const old = $(name);
  const values = new Map([...old.querySelectorAll("select")].map((one) => [one.id, one.value]));
  const off = new Set([...old.querySelectorAll("[name=state]:not(:checked)")].map((one) => one.value));
  const open = new Map([...old.querySelectorAll("details")].map((one) => [keyOf(one), one.open]));
  const scrolled = old.querySelector(".pods, .problems")?.scrollTop;
  const focus = old.contains(document.activeElement) ? identity(document.activeElement) : "";
  const fresh = parsed(html);
  old.replaceWith(fresh);
  for (const [id, value] of values) { $(id).value = value; if ($(id).selectedIndex < 0) $(id).value = ""; }
  for (const box of fresh.querySelectorAll("[name=state]")) box.checked = !off.has(box.value);
  if (name === "legend") rove();
  for (const one of fresh.querySelectorAll("details")) one.open = open.get(keyOf(one)) ?? one.open;
  if (scrolled) fresh.querySelector(".pods, .problems")?.scrollTo(0, scrolled);
  if (focus) {
    const stops = [...fresh.querySelectorAll("summary, select, input, .scroll, .pods, .problems, .copy, .pick, .raw")];
    (stops.find((one) => identity(one) === focus) || stops[0])?.focus(); // the list, where its entry is gone
  }
  if (document.activeElement.matches("[name=state]")) rove(document.activeElement);
}
function keyOf(folded) {
  return folded.dataset.pod || folded.dataset.kind;
}
function identity(element) {
  const around = element.closest("details");
  return element.id || element.value || (element.dataset.filter && element.textContent) || (around && keyOf(around) + element.className) || element.getAttribute("aria-label") || element.className;
}
function apply(update) {
  revision = update.revision;
  const active = document.activeElement, inGrid = grid.contains(active), onDot = active === current;
  $("taken").dateTime = update.taken;
  for (const [name, html] of Object.entries(update.sections)) section(name, html);
  for (const [name, html] of Object.entries(update.rows)) {
    const fresh = parsed(html), old = rows.get(name);
    const place = old && old.contains(current) ? [...dotsOf(old)].indexOf(current) : -1;
    const now = (before) => update.details[name].findIndex((one) => one.id === details.get(name)?.[before]?.id);
    if (old && old.dataset.group === fresh.dataset.group) old.replaceWith(fresh);
    else { old?.remove(); groups.get(fresh.dataset.group).querySelector(".rows").append(fresh); }
    rows.set(name, fresh);
    fresh.classList.add("fresh");
    if (place >= 0) reach(dotsOf(fresh)[now(place)] || [...dotsOf(fresh)].slice(0, place + 1).at(-1));
    if (shown && shown[0] === name) shown[1] = now(shown[1]);
  }
  for (const [name, found] of Object.entries(update.details)) details.set(name, found);
  if (update.order) {
    const keep = new Set(update.order);
    for (const [name, row] of rows) if (!keep.has(name)) { row.remove(); rows.delete(name); details.delete(name); }
    const places = new Map();
    for (const name of update.order) {
      const row = rows.get(name), home = groups.get(row.dataset.group).querySelector(".rows"), place = places.get(home) || 0;
      if (home.children[place] !== row) home.insertBefore(row, home.children[place] || null);
      places.set(home, place + 1);
    }
    const ordered = update.order.map((name) => [name, rows.get(name)]);
    rows.clear();
    for (const [name, row] of ordered) rows.set(name, row);
  }
  ages();
  copies();
  measure();
  filter();
  if (shown) panel();
  // What is replaced, moved or hidden loses the focus; it goes to the same device, or to one that is seen.
  const left = document.activeElement;
  if (inGrid && (onDot ? left !== current : left === document.body || !seen(left))) (current || $("map-title")).focus();
  for (const pod of document.querySelectorAll("#waiting details[open][data-later]")) explain(pod);
}
function outdated(text) {
  troubled = text;
  document.documentElement.classList.toggle("stale", Boolean(text));
  $("trouble").hidden = !text;
  const kind = document.documentElement.dataset.kind;
  const words = text ? "Not current" : kind === "snapshot" ? "Snapshot" : revision ? "Live" : "Report";
  if ($("live").textContent !== words) $("live").textContent = words;
  ages();
}
async function explain(pod) {
  if (!pod.open || pod.dataset.later === undefined) return;
  pod.removeAttribute("data-later");
  const why = pod.querySelector(".why");
  try {
    const answer = await fetch("explain?pod=" + encodeURIComponent(pod.dataset.pod));
    const fresh = parsed(`<div class="why">${answer.ok ? await answer.text() : ""}</div>`);
    if (why.contains(document.activeElement)) pod.querySelector("summary").focus();
    if (answer.ok) why.replaceWith(fresh); else why.textContent = plain(await answer.text());
  } catch { why.textContent = "The page's server does not answer."; }
}
function follow() {
  const source = new EventSource("events?since=" + revision);
  source.addEventListener("update", (event) => { apply(JSON.parse(event.data)); outdated(""); });
  source.addEventListener("trouble", (event) => outdated("The cluster cannot be read: " + plain(JSON.parse(event.data)).replace(/[.]?$/, ".")));
  source.onerror = () => {
    // A snapshot stays as it is; only explanations would come.
    if (document.documentElement.dataset.kind !== "snapshot") outdated("kubectl dra ui has ended or does not answer: start it again.");
    if (source.readyState === EventSource.CLOSED) return;
    source.close();
    setTimeout(follow, 3000);
  };
}

// Start -----------------------------------------------------------------------------------------
const THEMES = ["system", "light", "dark"];
function theme(name) {
  document.documentElement.dataset.theme = name;
  $("theme").textContent = "Theme: " + name;
  try { localStorage.setItem("theme", name); } catch { /* files may have no storage */ }
}
let saved = "system";
try { saved = localStorage.getItem("theme") || "system"; } catch { /* as above */ }
theme(THEMES.includes(saved) ? saved : "system");
$("theme").hidden = false;
$("theme").addEventListener("click", () => theme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % 3]));
form.addEventListener("input", () => { filter(); remember(); });
form.addEventListener("reset", () => setTimeout(() => { filter(); remember(); }));
form.addEventListener("submit", (event) => event.preventDefault());
document.addEventListener("toggle", (event) => { if (event.target.matches("details[data-later]")) explain(event.target); }, true);
recall();
copies();
rove();
measure();
const quota = $("quota"); // there only with claims
if (quota) quota.open = "quotas" in quota.dataset && matchMedia("(min-width: 88.1rem)").matches && quota.querySelectorAll("tbody tr").length <= FEW;
filter();
outdated("");
setInterval(ages, 30000);
for (const pod of document.querySelectorAll("#waiting details[open][data-later]")) explain(pod);
if (revision) follow();
