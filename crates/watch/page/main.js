// The page: channels with their fields, the plots, and the time that they show.

import * as address from "./address.js";
import { clock, download, h, say, short } from "./dom.js";
import { ask, start } from "./link.js";
import { Panel, waysOf } from "./panel.js";
import { Part, fresh } from "./recorded.js";
import { Transport } from "./transport.js";

const SPANS = [[1, "1 s"], [5, "5 s"], [15, "15 s"], [30, "30 s"], [60, "1 min"], [300, "5 min"], [1800, "30 min"]];
const PACE = 33; // milliseconds between two pictures, at least
const SLICE = 6; // milliseconds for which plots are drawn in one frame; the others follow in the next ones
const LOOK = 250; // between two looks at the newest values
const STALE = 2; // seconds after which a kind of records is one that has not come for a while
const PEEK = 200; // between two values of a record in the list of fields
const FAST = 500; // events a second of a source of which the list looks at fewer

const find = (id) => document.getElementById(id);
const other = h("option", { value: "", hidden: true }); // a span of time that the list does not have
const [list, board, state] = [find("places"), find("panels"), find("state")];

let places = [];
let panels = [];
let span = 15;
let until = null; // the time at which the page has stopped, or null if it follows
let recording = null; // the first and the last time of the recordings that the page shows
let isReplay = false; // whether the channels are those of a replay
let transport = null; // the bar that leads a recording or a replay
let speed = 0; // seconds of a recording in one second, or 0 if it stands
let rate = 1; // what the speed is once it plays
let shown = null; // the times that the last picture had
let dirty = true;
let wanted = []; // plots of the address whose fields have not come yet

// ---- channels and their fields

/** A channel: its part of the list, and a subscription that shows its newest values. */
function place(known, number) {
  const sources = h("div");
  const element = h("section", {}, h("h2", {}, known.name), h("p", { class: "id" }, known.id), sources);
  const hint = h("p", { class: "hint" }, recording ? "reading" : isReplay ? "nothing has been replayed yet" : "waiting for a source");
  sources.append(hint);
  list.append(element);
  const made = { ...known, address: known.id, number, sources, hint, known: new Map(), rates: new Map(), isCalm: false };
  if (recording) {
    // The newest values before the time that the page shows.
    made.part = new Part(known, () => [{ id: fresh(), wish: { place: number }, want: [] }], () => look(made));
  } else {
    made.id = fresh();
    ask("subscribe", { id: made.id, place: number, latest: PEEK, want: [] });
  }
  return made;
}

async function look(place) {
  if (place.isLooking) return; // the worker has much to do
  if (place.part) {
    place.part.needAt(until);
    place.id = place.part.groups[0].id;
  }
  place.isLooking = true;
  try {
    const sources = await ask("look", { id: place.id });
    await show(place, sources);
    if (place.next) await swap(place, sources);
  } catch (error) {
    failed(error);
  } finally {
    place.isLooking = false;
  }
}

/** As long as all sources are fast, the list looks only at one event in ten milliseconds of each. Any other one then costs the source next to nothing,
 * instead of a copy. So what the list shows when a source stops is up to ten milliseconds old, as lines are. */
function pace(place, sources) {
  const least = place.isCalm ? FAST / 2 : FAST;
  const isFast = (source) => source.declared && countsOf(place, source)?.perSecond > least;
  const here = sources.filter(({ present }) => present);
  const isCalm = here.every(isFast);
  if (here.length === 0 || isCalm === place.isCalm || place.next) return;
  place.isCalm = isCalm;
  place.next = fresh();
  ask("subscribe", { id: place.next, place: place.number, latest: PEEK, query: isCalm ? "every 10 ms" : undefined, want: [] });
}

/** The list shows what it has until the next subscription has something of each source that is there. */
async function swap(place, before) {
  const sources = await ask("look", { id: place.next });
  const hasCome = ({ source }) => sources.some((other) => other.source === source && other.token);
  const there = before.filter(({ token, present }) => token && present);
  if (!sources.some(({ token }) => token) || !there.every(hasCome)) return;
  ask("unsubscribe", { id: place.id });
  [place.id, place.next] = [place.next, undefined];
  place.known.forEach((row) => (row.isOfOther = true));
}

async function show(place, sources) {
  if (place.part) return showRecorded(place, sources);
  if (!place.isMixed && sources.some(({ declared }) => !declared)) {
    place.isMixed = true;
    panels.forEach((panel) => panel.separate(place.number));
  }
  place.hint.hidden = sources.some(({ token, present }) => token && present);
  if (sources.some(({ token }) => token)) say(place.hint, "all sources have left; if a program made this channel anew, start isoform watch again");
  for (const [name, row] of place.known) {
    if (sources.some((source) => nameOfKind(source) === name)) continue;
    row.element.remove();
    place.known.delete(name);
  }
  for (const source of sources) {
    const row = await rowOf(place, source);
    if (!row) continue;
    const counts = countsOf(place, source);
    row.element.firstChild.classList.toggle("gone", !source.present);
    // A kind of records that has not come for a while says when it came.
    const isOld = newest(sources, source) - source.last > STALE;
    const now = isOld ? `last at ${clock(source.last, 10)}` : counts ? `${counts.rate} a second, ${counts.sinks}` : "";
    const earlier = counts?.earlier ? `, ${counts.earlier.toLocaleString("en")} earlier events are not here` : "";
    say(row.about, (source.present ? now : "has left") + earlier);
    // It is what those sinks ask for, and so no news.
    row.about.title = counts?.superseded ? `${counts.superseded.toLocaleString("en")} superseded, for sinks that want the latest record only` : "";
    say(row.lost, counts?.lost ? `, ${counts.lost.toLocaleString("en")} lost` : "");
    fill(row, source.values);
  }
  pace(place, sources);
}

/** The records of a source are of several kinds if their fields, units or symbols differ. */
const nameOfKind = ({ source, kind }) => `${source} ${kind}`;

const newest = (sources, { source }) => Math.max(...sources.filter((other) => other.source === source).map(({ last }) => last ?? 0));

/** What members tell of a source. They number sources in their own way, but the only one of a node and a format is known. */
function countsOf(place, source) {
  const like = [...place.rates.values()].filter(({ node, format }) => node === source.node && format === source.format);
  return like.length === 1 ? like[0] : place.rates.get(`${source.node} ${source.source}`);
}

/** Sources of which nothing has come by now stay in the list, so that their fields can be found. */
async function showRecorded(place, sources) {
  place.hint.hidden = sources.length > 0 || place.known.size > 0;
  if (place.part.loaded) say(place.hint, "nothing was recorded up to this time");
  const isThere = new Set();
  for (const source of sources) {
    const row = await rowOf(place, source);
    if (!row) continue;
    isThere.add(row);
    say(row.lost, source.refused ? source.refused : "");
    say(row.about, `event ${source.sequence.toLocaleString("en")}`);
    fill(row, source.values);
  }
  // While a part is on its way, what was there stays.
  if (place.part.coming) return;
  for (const row of place.known.values()) {
    row.element.firstChild.classList.toggle("gone", !isThere.has(row));
    if (isThere.has(row)) continue;
    say(row.about, "");
    row.cells.forEach((cell) => say(cell, "–"));
  }
}

/** The part of the list for a kind of records of a source. */
async function rowOf(place, source) {
  if (source.kind === null) return undefined;
  const row = place.known.get(nameOfKind(source));
  // Of a recording, each part numbers kinds anew, and so does another subscription.
  if (row && (row.token === source.token || !(recording || row.isOfOther))) {
    row.isOfOther = false;
    return row;
  }
  const told = await ask("format", { id: place.id, source: source.source, kind: source.kind });
  if (!told) return undefined;
  row?.element.remove();
  const made = sourceRow(place, source, told);
  place.known.set(nameOfKind(source), made);
  place.sources.append(made.element);
  restore();
  return made;
}

function fill(row, values) {
  values.forEach(([path, value]) => {
    const cell = row.cells.get(path);
    if (cell) say(cell, value);
  });
}

/** A source of a channel with the fields of its records. */
function sourceRow(place, source, { format, paths }) {
  const record = format.structures.at(-1).name;
  const cells = new Map();
  const rows = paths.map((field) => {
    const one = { ...field, place: place.number, record };
    const cell = h("td");
    cells.set(field.path, cell);
    const unit = field.unit ? h("small", {}, ` ${field.unit}`) : [];
    const button = h("button", {
      draggable: "true", title: "Plot it; with Shift, in the last plot", onclick: (event) => plot(one, event.shiftKey),
      ondragstart: (event) => event.dataTransfer.setData("application/x-field", JSON.stringify(one)),
    }, field.path, unit);
    return h("tr", {}, h("td", {}, button), cell);
  });
  const [about, lost] = [h("span"), h("span", { class: "lost" })];
  const node = source.node ? ` at node ${source.node.slice(0, 8)}` : "";
  const summary = h("summary", {}, `${record} `, h("small", {}, `source ${source.source}${node}: `, about, lost));
  const element = h("details", { open: true }, summary, h("table", { class: "fields" }, rows));
  return { element, about, lost, cells, token: source.token, record, paths };
}

/** The account that members tell. */
function account(told) {
  const place = places[told.info];
  if (!place || !told.sources) return;
  const now = performance.now();
  for (const source of told.sources) {
    const name = `${source.node} ${source.source}`;
    const before = place.rates.get(name);
    const seconds = before ? (now - before.now) / 1000 : 0;
    const perSecond = before && seconds > 0 ? Math.round((source.submitted - before.submitted) / seconds) : 0;
    const others = source.sinks.length;
    const sinks = others === 1 ? "1 sink" : `${others} sinks`;
    const [superseded, lost] = ["superseded", "lost"].map((name) => source.sinks.reduce((sum, sink) => sum + sink[name], 0));
    // Of the sinks of this page, one came first.
    const earlier = Math.min(...source.sinks.filter((sink) => sink.here).map((sink) => sink.earlier));
    const counted = { sinks, superseded, lost, earlier: Number.isFinite(earlier) ? earlier : 0 };
    place.rates.set(name, { node: source.node, format: source.format, now, submitted: source.submitted, perSecond, rate: perSecond.toLocaleString("en"), ...counted });
  }
}

// ---- plots

function plot(one, inLast) {
  const last = panels.at(-1);
  if (inLast && last?.takes(one)) return last.add(one);
  const way = { number: "line", array: one.dimensions === 2 ? "image" : "profile", text: "values" }[one.shown];
  open([one], way);
  keep();
}

/** Opens a plot, behind the others unless the arrangement says where it belongs. */
function open(series, way, rank = Math.max(-1, ...panels.map((panel) => panel.rank), ...wanted.map((panel) => panel.rank)) + 1) {
  const changed = () => {
    entitle();
    keep();
  };
  const panel = new Panel(series, way, { changed, close, recording, nameOf, mayShare, times: isReplay ? "time now" : undefined });
  panel.selected = (from, to) => {
    span = Math.max(to - from, 1e-5);
    if (recording) stand(to);
    else until = to;
    following();
  };
  panel.plot.addEventListener("dblclick", unselected);
  panel.element.addEventListener("dragover", (event) => {
    if (!event.dataTransfer.types.includes("application/x-field")) return;
    event.preventDefault();
    panel.element.classList.add("over");
  });
  panel.element.addEventListener("dragleave", () => panel.element.classList.remove("over"));
  panel.element.addEventListener("drop", (event) => {
    event.preventDefault();
    event.stopPropagation();
    panel.element.classList.remove("over");
    const one = dropped(event);
    if (one && panel.takes(one)) panel.add(one);
    else if (one) plot(one, false);
  });
  panel.rank = rank;
  const next = panels.findIndex((other) => other.rank > rank);
  panels.splice(next < 0 ? panels.length : next, 0, panel);
  entitle();
  find("hint")?.remove();
  board.insertBefore(panel.element, panels[panels.indexOf(panel) + 1]?.element ?? null);
  resized.observe(panel.plot);
  panel.element.scrollIntoView({ block: "nearest" });
}

function close(panel) {
  panel.end();
  panel.chart?.destroy();
  panel.element.remove();
  panels = panels.filter((other) => other !== panel);
  entitle();
  if (panels.length === 0) invite();
  keep();
  board.focus();
}

/** Plots share subscriptions to sources that have declared their formats: any others may send records that have the fields of one plot, but not those
 * of another one. */
function mayShare(place) {
  return !places[place].isMixed;
}

/** The name of a field: with that of its channel, or of its record, if plots show others of the same path. */
function nameOf(one) {
  const like = panels.flatMap(({ series }) => series).filter(({ path }) => path === one.path);
  if (like.every(({ place, record }) => place === one.place && record === one.record)) return one.path;
  if (like.every(({ place }) => place === one.place)) return `${one.record}/${one.path}`;
  const { name, address } = places[one.place];
  return `${places.filter((other) => other.name === name).length > 1 ? address : name}/${one.path}`;
}

function entitle() {
  panels.forEach((panel) => panel.entitle());
}

function dropped(event) {
  const text = event.dataTransfer.getData("application/x-field");
  return text ? JSON.parse(text) : null;
}

const resized = new ResizeObserver(() => {
  panels.forEach((panel) => panel.resize());
  dirty = true;
});

function invite() {
  board.append(h("p", { id: "hint" }, `Choose a field on the left, or drag it here. Shift adds it to the last plot. Drag over a plot to look closer, and press Escape to leave. ${recording ? "K plays the recording, and stops it." : "P stops the plots, and lets them go on."}`));
}

/** What the page shows, with the plots whose fields have not come, all in their order. */
function arrangement() {
  const kept = [...panels.map((panel) => ({ rank: panel.rank, ...panel.kept(places) })), ...wanted].sort((a, b) => a.rank - b.rank);
  return { span, ...(recording ? { at: until } : {}), panels: kept.map(({ way, fields }) => ({ way, fields })) };
}

/** The address shows what the page shows. */
function keep() {
  address.write(arrangement());
  dirty = true;
}

/** Opens the plots of the arrangement whose fields are known by now. */
function restore() {
  wanted = wanted.filter(({ way, fields, rank }) => {
    const series = fields.map(([name, record, path]) => {
      for (const place of places.filter((known) => known.name === name)) {
        for (const row of place.known.values()) {
          const field = row.record === record && row.paths.find((known) => known.path === path);
          if (field) return { ...field, place: place.number, record };
        }
      }
      return null;
    });
    if (series.includes(null)) return true;
    const ways = waysOf(series[0]).map(([known]) => known);
    open(series, ways.includes(way) ? way : ways[0], rank);
    return false;
  });
}

function arrange(wish) {
  [...panels].forEach(close);
  span = Number.isFinite(wish?.span) && wish.span > 0 ? wish.span : span;
  if (recording && Number.isFinite(wish?.at)) stand(wish.at);
  const isPanel = (panel) => Array.isArray(panel?.fields) && panel.fields.length > 0 && panel.fields.every(Array.isArray);
  const kept = Array.isArray(wish?.panels) ? wish.panels.filter(isPanel) : [];
  wanted = kept.map((panel, rank) => ({ ...panel, rank }));
  restore();
  following();
}

// ---- time

function following() {
  const pause = find("pause");
  pause.setAttribute("aria-pressed", String(until !== null));
  say(pause, until === null ? (isReplay ? "Stop plots" : "Pause") : "Follow");
  const choice = find("span");
  const isKnown = SPANS.some(([seconds]) => seconds === span);
  other.hidden = isKnown;
  if (!isKnown) say(other, `${short(span)} s`);
  choice.value = isKnown ? String(span) : "";
  keep();
}

/** Of a recording, shows this time. */
function stand(at) {
  until = Math.min(Math.max(at, recording.first), recording.last);
  dirty = true;
  transport.show({ at: until, rate, playing: speed > 0 });
}

/** A person leads the recording. */
function lead({ at, playing, rate: wish, isDone }) {
  if (wish !== undefined) rate = wish;
  if (playing !== undefined) speed = playing ? rate : 0;
  if (speed > 0) speed = rate;
  // From its end, it plays from the beginning.
  if (playing && until >= recording.last) stand(recording.first);
  if (at !== undefined) stand(at);
  stand(until);
  if (isDone || playing === false) keep();
}

/** Time goes on while a recording plays. */
function play(seconds) {
  if (speed === 0 || transport.isHeld) return;
  if (until + seconds * speed >= recording.last) speed = 0;
  stand(speed === 0 ? recording.last : until + seconds * speed);
  if (speed === 0) keep();
}

/** As it was before a person has chosen a part. */
function unselected() {
  if (SPANS.some(([seconds]) => seconds === span)) return;
  span = recording ? SPANS.at(-1)[0] : 15;
  if (!recording) until = null;
  following();
}

function toggle() {
  if (recording) return; // its plots follow nothing
  until = until === null ? shown?.to ?? null : null;
  if (until === null && !SPANS.some(([seconds]) => seconds === span)) span = 15;
  following();
}

function move(share) {
  if (!shown) return;
  if (recording) stand(until + span * share);
  else until = (until ?? shown.to) + span * share;
  following();
}

function zoom(factor) {
  span = Math.min(Math.max(span * factor, 1e-3), 36_000);
  following();
}

let busy = false;
let painted = 0;

async function paint(now) {
  requestAnimationFrame(paint);
  if (busy || now - painted < PACE) return;
  if (recording) play(Math.min((now - painted) / 1000, 1));
  if (panels.length === 0 || (until !== null && !dirty)) {
    painted = now;
    return;
  }
  busy = true;
  painted = now;
  dirty = false;
  try {
    const seen = panels.filter((panel) => panel.element.isConnected && isVisible(panel.element));
    const end = recording ? Math.max(until, Math.min(recording.first + span, recording.last)) : until;
    if (recording) seen.forEach((panel) => panel.need(end - span, end, until));
    const wishes = seen.map((panel) => panel.wishes());
    const as = (wishes) => JSON.stringify(wishes);
    const answer = await ask("frame", { span, to: end, wishes: wishes.flat() });
    shown = answer;
    seen.forEach((panel, index) => {
      const answers = answer.answers.splice(0, wishes[index].length);
      // A panel that has changed meanwhile gets answers to its new wishes with the next picture.
      if (as(wishes[index]) === as(panel.wishes())) panel.take(answers);
    });
    await draw(seen, answer);
  } catch (error) {
    failed(error);
  } finally {
    busy = false;
  }
}

/** Draws plots one after another. When a frame has had its share, the next one goes on. */
async function draw(seen, { from, to }) {
  let began = performance.now();
  for (const panel of seen) {
    if (!panel.element.isConnected) continue; // it was closed meanwhile
    try {
      panel.paint(from, to);
    } catch (error) {
      failed(error);
    }
    // A chart draws as soon as its caller is done.
    await null;
    if (performance.now() - began < SLICE) continue;
    note(performance.now() - began);
    await new Promise(requestAnimationFrame);
    began = performance.now();
  }
  note(performance.now() - began);
}

/** How long drawing took in each of the last frames, for measurements. */
const times = [];
window.times = times;

function note(time) {
  times.push(time);
  if (times.length > 1000) times.shift();
}

function isVisible(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}

/** What cannot be shown is told, and the rest goes on. */
function failed(error) {
  bad(`something cannot be shown: ${error?.message ?? error}`);
}

function bad(text, about = "") {
  state.className = "bad";
  state.title = about;
  say(state, text);
}

// ---- start

function told(message) {
  if (message.places) {
    if (message.places[0]?.kind === "recording") record(message.places);
    isReplay = Boolean(message.player);
    places = message.places.map(place);
    say(state, "");
    const { arrangement: wish } = address.read();
    arrange(wish);
    setInterval(() => places.forEach((known) => look(known)), LOOK);
    if (recording) return;
    if (message.player) replay(message.player);
    // In turn: the server asks few channels at a time.
    let turn = 0;
    setInterval(() => ask("info", { place: turn++ % places.length }), Math.max(1000 / places.length, 100));
  } else if (message.complete !== undefined) {
    if (message.error) bad("the recording was cut or damaged; the page shows all that is whole", message.error);
    [...panels, ...places].some(({ part }) => part?.complete(message.complete));
  } else if (message.player) {
    transport?.show({ ...message.player, playing: !message.player.paused });
  } else if (message.refused !== undefined) {
    const refused = panels.filter(({ groups, part }) => part?.has(message.refused) || groups.some(({ id }) => id === message.refused));
    refused.forEach((panel) => panel.refuse(message.error));
    if (refused.length === 0) say(state, message.error);
    [...panels, ...places].some(({ part }) => part?.complete(message.refused));
  } else if (message.info !== undefined) {
    account(message);
  } else if (message.failed !== undefined) {
    failed(message.failed);
  } else if (message.closed !== undefined) {
    bad(message.reason || "the server has ended: start isoform watch again, and open the address that it prints");
  }
}

/** The page shows recordings: their whole time at first. */
function record(known) {
  const [first, last] = [Math.min(...known.map(({ first }) => first)), Math.max(...known.map(({ last }) => last))];
  recording = { first, last, came: () => (dirty = true) };
  transport = new Transport(recording, lead);
  find("pause").hidden = true;
  const whole = Math.max(last - first, 1e-3);
  SPANS.push([whole, "all"]);
  find("span").append(h("option", { value: whole }, "all"));
  span = whole;
  stand(last);
  find("hint")?.remove();
  invite();
}

/** The channels are those of a replay, which the server plays. */
function replay(player) {
  transport = new Transport(player, ({ at, playing, rate: wish }) => {
    ask("player", { seek: at, paused: playing === undefined ? undefined : !playing, rate: wish });
  }, { play: "Play replay", stop: "Stop replay", time: "recorded " });
  transport.show({ ...player, playing: !player.paused });
  setInterval(() => ask("player", {}), 500);
}

for (const [seconds, words] of SPANS) find("span").append(h("option", { value: seconds }, words));
find("span").append(other);
find("span").addEventListener("change", ({ target }) => {
  span = Number(target.value);
  following();
});
find("pause").addEventListener("click", toggle);
find("back").addEventListener("click", () => move(-0.5));
find("forth").addEventListener("click", () => move(0.5));
find("closer").addEventListener("click", () => zoom(0.5));
find("wider").addEventListener("click", () => zoom(2));
find("save").addEventListener("click", () => download("plots.json", new Blob([JSON.stringify(arrangement(), null, 1)], { type: "application/json" })));
find("load").addEventListener("click", () => find("file").click());
find("file").addEventListener("change", async ({ target }) => {
  try {
    arrange(JSON.parse(await target.files[0].text()));
  } catch {
    say(state, "this file has no arrangement of plots");
  }
  target.value = "";
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") unselected();
  if (["p", "k"].includes(event.key) && !event.ctrlKey && !event.metaKey && !event.altKey && (event.target.tagName !== "INPUT" || event.target.type === "range")) (event.key === "k" ? transport?.play.click() : toggle());
});
board.addEventListener("dragover", (event) => event.preventDefault());
board.addEventListener("drop", (event) => {
  event.preventDefault();
  const one = dropped(event);
  if (one) plot(one, false);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  panels.forEach((panel) => panel.forget());
  dirty = true; // also while the page has stopped
});

invite();
requestAnimationFrame(paint);
start(address.read().key, told).catch((error) => {
  bad(`the page cannot start: ${error.message}`);
});
