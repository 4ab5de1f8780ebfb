// A plot: its fields, how it shows them, its subscriptions, and its picture.

import uPlot from "./uplot.js";
import { query } from "./address.js";
import { brief, clock, download, h, say, short, ticked } from "./dom.js";
import { ask } from "./link.js";
import { draw, places as ticks, scale } from "./picture.js";
import { Part, fresh } from "./recorded.js";
import { Shared } from "./shared.js";

const COLOURS = ["#1f8a84", "#c2572b", "#4664b8", "#8a6d1f", "#9a3f8f", "#3d7f2f", "#b03052", "#5a6b75"];
const SIDE = 16_384; // the most pixels of a side of an image
const DRAWABLE = 1e300; // a chart needs room around its numbers
const FAST = 2; // a source whose newest thousand events took fewer seconds
const SPREAD = 8; // cells to the left and right of the pointer are not looked up

/** The ways to show fields, with their words. */
const WAYS = {
  number: [["line", "over time"], ["number", "number"]],
  array: [["profile", "profile"], ["heat", "over time"], ["image", "image"]],
  text: [["values", "value"]],
};

/** The ways to show a field. */
export const waysOf = ({ shown, dimensions }) => WAYS[shown].filter(([way]) => way !== "image" || dimensions === 2);

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export class Panel {
  /** `changed` is called when the arrangement is another one. `recording` has the first and the last time, if the page shows one. `nameOf` names a
   * field; `times` says which times lines have, if a page has several kinds. `mayShare` tells whether the lines of a place may share a subscription
   * with those of other plots. */
  constructor(series, way, { changed, close, recording, nameOf, times, mayShare }) {
    Object.assign(this, { recording, nameOf, times, mayShare });
    this.series = [];
    this.changed = changed;
    this.title = h("h3");
    this.ways = h("select", { "aria-label": "How to show it", onchange: () => this.show(this.ways.value) });
    this.plot = h("div", { class: "plot" });
    this.legend = h("ul", { class: "legend" });
    this.element = h("section", { class: "panel", tabindex: "-1" },
      h("div", {}, this.title, this.ways,
        h("button", { onclick: () => this.png(), title: "Save the picture" }, "PNG"),
        h("button", { onclick: () => this.csv(), title: "Save the numbers" }, "CSV"),
        h("button", { onclick: () => close(this), "aria-label": "Close this plot" }, "×")),
      this.plot, this.legend);
    this.groups = [];
    this.whole = new Set(); // groups whose query a source has refused
    this.thin = new Map(); // groups whose source is fast: whether it sends least and greatest numbers
    this.apart = new Set(); // groups that share their subscriptions with no other plot
    series.forEach((one) => this.series.push(one));
    this.way = way;
    this.arrange();
  }

  /** Whether a field can be shown here, beside the others. */
  takes(one) {
    return this.series.length < COLOURS.length && this.way === "line" && one.shown === "number" && !this.series.some((known) => same(known, one));
  }

  add(one) {
    this.series.push(one);
    this.arrange();
    this.changed();
  }

  show(way) {
    this.way = way;
    this.arrange();
    this.changed();
  }

  /** Subscribes to what is shown, and makes an empty picture. */
  arrange() {
    this.end();
    this.refused = this.units = this.answers = undefined;
    if (this.recording) {
      this.part = new Part(this.recording, () => this.grouped(), this.recording.came);
    } else {
      this.groups = this.grouped().map((group) => this.subscribed(group));
    }
    this.entitle();
    const ways = waysOf(this.series[0]);
    this.ways.replaceChildren(...ways.map(([way, word]) => h("option", { value: way, selected: way === this.way }, word)));
    this.ways.hidden = ways.length < 2;
    this.forget();
  }

  /** Its title has all units in which its fields came. */
  names(lines) {
    const units = this.series.map((one) => [...new Set(lines.filter((line) => line.one === one).map(({ unit }) => unit ?? ""))]);
    if (JSON.stringify(units) === JSON.stringify(this.units)) return;
    this.units = units;
    this.entitle();
  }

  /** Says what it shows. Names depend on what other plots show. */
  entitle() {
    const names = this.series.map((one, index) => {
      const units = this.units?.[index] ?? [];
      return this.nameOf(one) + (units.length > 1 ? ` [${units.map((unit) => unit || "no unit").join(", ")}]` : unitOf({ unit: units[0] ?? one.unit }));
    });
    say(this.title, names.join(", "));
    this.title.title = names.join("\n");
    this.element.setAttribute("aria-label", `Plot of ${names.join(", ")}`);
    this.described = "";
  }

  /** The fields of each record, with what subscribes to them. */
  grouped() {
    const groups = new Map();
    for (const one of this.series) {
      const name = `${one.place} ${one.record}`;
      if (!groups.has(name)) groups.set(name, { id: fresh(), name, place: one.place, isWhole: this.whole.has(name), isThin: this.way === "line" && this.thin.get(name), series: [] });
      groups.get(name).series.push(one);
    }
    const isArray = ["profile", "heat", "image"].includes(this.way);
    const latest = this.recording || this.isOverTime ? undefined : 100;
    return [...groups.values()].map((group) => ({
      ...group,
      columns: group.series.map((_, index) => index),
      want: group.series.map((one) => ({ path: nameIn(group, one), array: isArray })),
      wish: { place: group.place, query: group.isWhole ? undefined : query(group.series.map(({ path }) => path)), latest },
    }));
  }

  /** Subscribes to the fields of a group. */
  subscribed(group) {
    const { id, name, place, isWhole, isThin, series, wish, want } = group;
    if (this.way !== "line" || isWhole) {
      ask("subscribe", { id, ...wish, want });
      return group;
    }
    const paths = series.map(({ path }) => path);
    const isShared = this.mayShare(place) && !this.apart.has(name);
    const shared = isShared ? Shared.join(name, place, isThin, paths) : Shared.alone(place, isThin, paths);
    return { ...group, shared, id: shared.id, columns: paths.map((path) => shared.column(path)) };
  }

  /** Shares the subscriptions of these groups with no other plot any more. Returns whether it did so. */
  leaves(groups) {
    const left = groups.filter(({ shared, series }) => shared?.paths.length > series.length);
    left.forEach(({ name }) => this.apart.add(name));
    return left.length > 0;
  }

  /** The fields of some sources of a place may be others in each record, so that no query has those of several plots. */
  separate(place) {
    if (this.leaves(this.groups.filter((group) => group.place === place))) this.arrange();
  }

  /** The server has refused a subscription. */
  refuse(error) {
    if (this.leaves(this.groups)) this.arrange();
    else this.refused = error;
  }

  /** A source checks a query with the format that it has declared, or with its first record. If that has not the fields, but other records have, the
   * page asks for whole records. */
  asksForWhole(lines) {
    const isRefused = ({ series }) => lines.some(({ one, refused, kind }) => series.includes(one) && kind === null && refused?.startsWith("no such field"));
    const refused = this.recording ? [] : this.groups.filter((group) => !group.isWhole && isRefused(group));
    refused.forEach(({ name }) => this.whole.add(name));
    return refused.length > 0;
  }

  /** What is refused of several plots is perhaps not of this one. */
  asksAlone(lines) {
    return this.leaves(this.groups.filter(({ series }) => lines.some(({ one, refused }) => refused && series.includes(one))));
  }

  /** Of a fast source, the page asks for the least and the greatest numbers, so that it costs the source little. If that hides something, or is
   * refused, it asks for all. */
  asksForLess(lines) {
    if (this.recording || this.way !== "line") return false;
    const before = this.thin.size;
    let isOther = false;
    for (const { name, isWhole, isThin, series } of this.groups) {
      const of = lines.filter(({ one }) => series.includes(one));
      if (isThin && of.some(({ refused, holes }) => refused || holes > 0)) {
        this.thin.set(name, false);
        isOther = true;
      } else if (!isWhole && !this.thin.has(name) && !of.some(({ symbols }) => symbols) && of.some(isFast)) this.thin.set(name, true);
    }
    return isOther || this.thin.size > before;
  }

  get isOverTime() {
    return ["line", "heat"].includes(this.way);
  }

  /** Of a recording, asks for what these times need: lines show the span, and others the values at a time. */
  need(from, to, at) {
    this.at = at;
    if (this.isOverTime) this.part.needSpan(from, to, this.points);
    else this.part.needAt(at);
    this.groups = this.part.groups;
  }

  get pixels() {
    return Math.max(this.plot.clientWidth - 60, 50);
  }

  /** How many points of a recording it shows. Of an array over time, the core keeps few rows. */
  get points() {
    return this.way === "heat" ? 80 : this.pixels;
  }

  /** Ends the subscriptions. */
  end() {
    if (this.part) this.part.end();
    else this.groups.forEach(({ id, shared }) => (shared ? shared.leave() : ask("unsubscribe", { id })));
    this.groups = [];
  }

  forget() {
    this.chart?.destroy();
    this.chart = undefined;
    this.lines = "";
    this.described = "";
    this.plot.replaceChildren();
    this.legend.replaceChildren();
  }

  /** What the worker shall draw, one wish for each field. */
  wishes() {
    const way = { line: "line", number: "values", values: "values", heat: "heat" }[this.way] ?? "newest";
    const { pixels } = this;
    return this.groups.flatMap(({ id, columns }) => columns.map((column) => ({ id, column, way, pixels })));
  }

  /** Takes the answers to the wishes. Plots that ask for something else because of them do so together, so that they share it. */
  take(answers) {
    const shown = this.groups.flatMap(({ series }) => series);
    this.answers = answers.flatMap((sources, index) => sources.map((source) => lineOf(shown[index], source, sources)));
    if (this.asksAlone(this.answers) || this.asksForWhole(this.answers) || this.asksForLess(this.answers)) this.arrange();
  }

  /** Shows the answers that it has. */
  paint(from, to) {
    const lines = this.answers;
    if (!lines) return;
    // What shows one record shows the newest of each source.
    const isThere = lines.filter(({ one, events, field, format, current }) => events > 0 && field && format === one.record && isShown(one, field) && (this.isOverTime || current));
    this.names(isThere);
    this.there = isThere;
    if (isThere.length === 0) {
      const why = this.refused ?? lines.find(({ refused }) => refused)?.refused;
      this.described = "";
      if (this.recording && !this.part.coming) this.forget(); // what was there is of another time
      const nothing = this.recording ? "nothing was recorded then" : "nothing has come yet";
      this.tell(why ? `refused: ${why}` : this.part?.coming ? "reading" : nothing);
      return;
    }
    const way = { line: "drawLines", profile: "drawProfile", heat: "drawHeat", image: "drawImage" }[this.way] ?? "drawValues";
    this[way](isThere, from, to);
  }

  drawLines(lines, from, to) {
    const parts = lines.map(({ numbers }) => {
      const count = numbers.length / 3;
      const [times, least, greatest] = [new Array(count), new Array(count), new Array(count)];
      for (let index = 0; index < count; index++) {
        times[index] = numbers[index * 3];
        least[index] = drawable(numbers[index * 3 + 1]);
        greatest[index] = drawable(numbers[index * 3 + 2]);
      }
      // Times that are equal, of a break in the line, are moved apart by as little as possible.
      for (let index = 1; index < count; index++) if (times[index] <= times[index - 1]) times[index] = times[index - 1] + 1e-6;
      return [times, greatest, least];
    });
    this.gaps = lines.flatMap(({ gaps }) => gaps).filter(({ time }) => time >= from && time <= to);
    const names = JSON.stringify(lines.map(({ one, source, kind, several, unit, symbols }) => [one.path, several && source, kind, unit, symbols]));
    if (!this.chart || this.lines !== names) {
      this.forget();
      this.lines = names;
      this.chart = this.makeLines(lines);
    }
    // A break is one until its own line goes on, whatever others have between.
    this.chart.setData(parts.length === 1 ? parts[0] : uPlot.join(parts, parts.map(() => [1, 2, 2])), false);
    this.chart.setScale("x", { min: from, max: to });
    this.describe(lines);
  }

  makeLines(lines) {
    const stroke = (index) => COLOURS[index % COLOURS.length];
    // Two units have an axis each; more than two share one, and the legend tells them apart. Symbols share none with anything else.
    const units = [...new Set(lines.filter(({ symbols }) => !symbols).map(({ unit }) => unit ?? ""))];
    const tables = [...new Set(lines.filter(({ symbols }) => symbols).map(({ symbols }) => JSON.stringify(symbols)))];
    const scaleOf = ({ unit, symbols }) => symbols ? `symbols ${tables.indexOf(JSON.stringify(symbols))}` : units.length === 2 && (unit ?? "") === units[1] ? "right" : "y";
    const series = lines.flatMap((line, index) => [0, 1].map(() => ({
      stroke: stroke(index), width: 1, points: { show: true, size: 4, width: 0, fill: stroke(index), filter: alone },
      paths: line.symbols ? uPlot.paths.stepped({ align: 1 }) : undefined, spanGaps: false, scale: scaleOf(line),
    })));
    const bands = lines.flatMap(({ symbols }, index) => symbols ? [] : [{ series: [index * 2 + 1, index * 2 + 2], fill: `${stroke(index)}66` }]);
    const axis = { stroke: style("--soft"), grid: { stroke: style("--line"), width: 1 }, ticks: { stroke: style("--line"), width: 1 }, font: "11px system-ui, sans-serif" };
    const all = units.length + tables.length;
    const numbered = (scale, label) => ({ ...axis, scale, size: 72, values: (chart, splits) => this.beside(chart, scale, splits), ...labelled(label) });
    const named = (table, index) => {
      const words = new Map(JSON.parse(table));
      const of = lines.findIndex(({ symbols }) => JSON.stringify(symbols) === table);
      return { ...axis, ...(all > 1 ? { stroke: stroke(of) } : {}), scale: `symbols ${index}`, size: 80, splits: () => [...words.keys()], values: (_, splits) => splits.map((value) => words.get(value) ?? "") };
    };
    const axes = [
      ...(units.length > 2 ? [numbered("y", "")] : units.map((unit, index) => numbered(index === 0 ? "y" : "right", all > 1 ? unit || "no unit" : unit))),
      ...tables.map(named),
    ];
    // The first axis is at the left, the others at the right.
    axes.forEach((one, index) => index > 0 && Object.assign(one, { side: 1, grid: { show: false } }));
    const scales = Object.fromEntries(axes.map(({ scale }) => [scale, { range: scale.startsWith("symbols") ? undefined : roomy }]));
    return new uPlot({
      width: this.plot.clientWidth || 400, height: 190, legend: { show: false }, series: [{}, ...series], bands,
      axes: [{ ...axis, space: 80, values: ({ scales }, splits) => splits.map((time) => clock(time, scales.x.max - scales.x.min)), ...labelled(this.times) }, ...axes],
      scales: { x: { time: true, auto: false }, ...scales }, padding: [16, null, null, null],
      cursor: { sync: { key: "time" }, drag: { x: true, y: false, setScale: false }, points: { size: 5 } },
      hooks: {
        drawClear: [(chart) => this.drawGaps(chart)],
        draw: [(chart) => this.drawOffsets(chart)],
        setSelect: [(chart) => {
          const { left, width } = chart.select;
          if (width > 3) this.selected?.(chart.posToVal(left, "x"), chart.posToVal(left + width, "x"));
          chart.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        }],
        setCursor: [() => this.describe(this.there ?? [])],
      },
    }, [[], ...series.map(() => [])], this.plot);
  }

  /** Where events are lost, the plot says so. Of a recording, it shows the time that the bar has. */
  drawGaps(chart) {
    const { ctx: paint, bbox } = chart;
    paint.save();
    if (this.recording && this.at < chart.scales.x.max) {
      paint.fillStyle = style("--accent");
      paint.fillRect(chart.valToPos(this.at, "x", true), bbox.top, devicePixelRatio, bbox.height);
    }
    paint.fillStyle = `${style("--lost")}55`;
    for (const { time } of this.gaps ?? []) {
      const x = chart.valToPos(time, "x", true);
      paint.fillRect(x - 1, bbox.top, 3 * devicePixelRatio, bbox.height);
    }
    paint.restore();
  }

  /** The numbers beside an axis. What one has to add to them stands above it. */
  beside(chart, scale, splits) {
    const { words, offset } = ticked(splits);
    chart.offsets = { ...chart.offsets, [scale]: offset };
    return words;
  }

  drawOffsets(chart) {
    const { ctx: paint, bbox } = chart;
    paint.save();
    paint.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    paint.fillStyle = style("--soft");
    for (const [scale, offset] of Object.entries(chart.offsets ?? {})) {
      paint.textAlign = scale === "right" ? "right" : "left";
      paint.fillText(offset, scale === "right" ? chart.ctx.canvas.width : 0, bbox.top - 6 * devicePixelRatio);
    }
    paint.restore();
  }

  drawProfile(lines) {
    const parts = lines.map(({ numbers }) => {
      const values = Array.from(numbers.subarray(1 + (numbers[0] ?? 0)), drawable);
      return [values.map((_, index) => index), values];
    });
    if (!this.chart || this.lines !== `${lines.length}`) {
      this.forget();
      this.lines = `${lines.length}`;
      const axis = { stroke: style("--soft"), grid: { stroke: style("--line"), width: 1 }, ticks: { stroke: style("--line"), width: 1 }, font: "11px system-ui, sans-serif" };
      this.chart = new uPlot({
        width: this.plot.clientWidth || 400, height: 190, legend: { show: false }, scales: { x: { time: false }, y: { range: roomy } }, padding: [16, null, null, null],
        series: [{}, ...lines.map((_, index) => ({ stroke: COLOURS[index], width: 1.5, points: { show: false } }))],
        axes: [axis, { ...axis, size: 72, values: (chart, splits) => this.beside(chart, "y", splits) }],
        hooks: { draw: [(chart) => this.drawOffsets(chart)], setCursor: [() => this.describe(this.there ?? [])] },
      }, [[], ...lines.map(() => [])], this.plot);
    }
    this.chart.setData(parts.length === 1 ? parts[0] : uPlot.join(parts));
    this.describe(lines);
  }

  drawHeat(lines, from, to) {
    const { dims, rows } = heatOf(current(lines).numbers);
    const seen = rows.filter(({ time }) => time >= from && time <= to);
    // Time goes to the right, the first element is at the bottom; of an array of rows, the first row is at the top, as in an image.
    const isRows = dims.length === 2 && dims[1] > 1;
    const cells = Math.max(...seen.map((row) => row.cells.length), 1);
    const elements = Math.max(...seen.map((row) => row.elements), 1);
    const turned = Array.from({ length: cells }, (_, cell) => Float64Array.from(seen, (row) => row.cells[isRows ? cell : cells - 1 - cell] ?? NaN));
    const span = seen.length > 1 ? seen.at(-1).time - seen[0].time : to - from;
    const times = ticks(seen.length, Math.max(this.pixels / 90, 2)).filter(([at]) => (1 - at) * this.pixels > 36);
    const below = times.map(([at, index]) => [at, clock(seen[index].time, span)]);
    const left = isRows ? ticks(dims[0], 6).map(([at, row]) => [at, String(row)])
      : ticks(cells, 6).map(([at, cell]) => [1 - at, String(Math.floor((cell * elements) / cells))]);
    const order = dims.length > 1 ? `${dims.join(" × ")} elements, row by row${isRows ? ", with the numbers of rows" : ""}` : `${elements} elements`;
    const part = elements > cells ? `; each cell is the one farthest from 0 of ${brief(elements / cells)}` : "";
    this.picture(turned, seen.length, cells, { left, below }, order + part);
    this.describe(lines);
  }

  drawImage(lines) {
    const { numbers } = current(lines);
    const [height, width] = numbers[0] === 2 ? [numbers[1], numbers[2]] : [0, 0];
    if (Math.max(height, width) > SIDE || height * width > numbers.length) {
      this.forget();
      this.tell(`an image of ${height} × ${width} is too large`);
      return;
    }
    const rows = Array.from({ length: height }, (_, y) => numbers.subarray(3 + y * width, 3 + (y + 1) * width));
    const numbered = (count, room) => ticks(count, room).map(([at, index]) => [at, String(index)]);
    this.picture(rows, width, height, { left: numbered(height, 6), below: numbered(width, 8) }, `${height} rows × ${width} columns`);
    this.describe(lines);
  }

  /** An image with the numbers of its rows and columns, and the scale of its colours. */
  picture(rows, width, height, { left, below }, about) {
    if (!this.canvas?.isConnected) {
      this.canvas = h("canvas", { class: "picture", role: "img" });
      this.bounds = [h("span"), h("span")];
      [this.left, this.below] = ["left", "below"].map((side) => h("div", { class: side, "aria-hidden": "true" }));
      const colours = h("canvas", { "aria-hidden": "true" });
      scale(colours);
      this.plot.replaceChildren(h("div", { class: "image" }, this.left, this.canvas, this.below),
        h("div", { class: "scale" }, this.bounds[0], colours, this.bounds[1]));
    }
    this.canvas.setAttribute("aria-label", `${this.title.textContent}: ${about}`);
    this.about = about;
    mark(this.left, "top", left);
    mark(this.below, "left", below);
    const bounds = draw(this.canvas, rows, width, height);
    const unit = this.there.at(-1)?.unit ?? "";
    this.bounds.forEach((bound, index) => say(bound, `${brief(bounds[index])} ${unit}`.trim()));
  }

  drawValues(lines) {
    // The subscription has the fields of this panel alone, in their order. Texts are exact, also of integers beyond 2^53.
    const rows = lines.map(({ one, source, several, values, unit }) => {
      const name = this.column(one);
      return [one.path + (several ? ` · source ${source}` : "") + unitOf({ unit }), unit ?? "", values.find(([path]) => path === name)?.[1] ?? "–"];
    });
    const what = rows.length === 1 ? "number" : "values";
    const heads = JSON.stringify([what, ...rows.map(([name, unit]) => [name, unit])]);
    if (this.lines !== heads) {
      this.forget();
      this.lines = heads;
      this.cells = rows.map(() => h("span"));
      this.plot.append(what === "number"
        ? h("div", { class: "number" }, this.cells, h("small", {}, ` ${rows[0][1]}`))
        : h("table", { class: "values" }, rows.map(([name], index) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, this.cells[index])))));
    }
    rows.forEach(([, , value], index) => say(this.cells[index], value));
    this.plot.querySelector(".number")?.classList.toggle("long", rows[0][2].length > 24);
    this.describe(lines);
  }

  /** The name that a field has in the records of its subscription. */
  column(one) {
    return nameIn(this.groups.find(({ series }) => series.includes(one)), one);
  }

  /** The lines with their numbers at the cursor, and what was lost. */
  describe(lines) {
    const at = this.chart?.cursor.idx;
    const data = this.chart?.data;
    const items = lines.slice(0, SPREAD).map(({ one, source, several, unit, symbols }, index) => {
      const column = this.way === "line" ? index * 2 + 1 : index + 1;
      const value = at === null || at === undefined ? undefined : data?.[column]?.[at];
      const word = symbols?.find(([known]) => known === value)?.[1] ?? (value === undefined || value === null ? "" : short(value));
      return [`${this.nameOf(one)}${several ? ` · source ${source}` : ""}${unitOf({ unit })}`, word, this.chart ? COLOURS[index % COLOURS.length] : undefined];
    });
    if (this.canvas?.isConnected) items.push([this.about, "", undefined]);
    // What shows one record says when that was.
    if (!this.isOverTime) items.push([clock(Math.max(...lines.map(({ last }) => last ?? 0)), 1), "", undefined]);
    const lost = lines.reduce((sum, line, index) => sum + (lines.findIndex((other) => other.source === line.source) === index ? line.lost : 0), 0);
    const state = JSON.stringify([items, lost]);
    if (state === this.described) return;
    this.described = state;
    const marks = items.map(([name, word, colour]) => {
      const mark = h("i");
      if (colour) mark.style.background = colour;
      return h("li", {}, colour ? mark : [], name, word ? [" ", h("b", {}, word)] : []);
    });
    this.legend.replaceChildren(...marks, ...(lost ? [h("li", { class: "lost" }, `${lost.toLocaleString("en")} lost`)] : []));
  }

  /** Says something in the place of the legend. */
  tell(text) {
    if (this.legend.textContent !== text) this.legend.replaceChildren(h("li", {}, text));
  }

  resize() {
    this.chart?.setSize({ width: this.plot.clientWidth, height: 190 });
  }

  png() {
    const canvas = this.plot.querySelector("canvas");
    if (!canvas) return;
    const copy = h("canvas", { width: canvas.width, height: canvas.height });
    const paint = copy.getContext("2d");
    paint.fillStyle = style("--raised");
    paint.fillRect(0, 0, copy.width, copy.height);
    paint.drawImage(canvas, 0, 0);
    copy.toBlob((blob) => download(`${this.series[0].path}.png`, blob));
  }

  /** The numbers that the picture shows. */
  csv() {
    const answers = this.there ?? [];
    const make = { line: "csvOfLines", heat: "csvOfHeat", profile: "csvOfArrays", image: "csvOfArrays" }[this.way] ?? "csvOfValues";
    const lines = this[make](answers);
    const cell = (value) => /[",\r\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : value;
    download(`${this.series[0].path}.csv`, new Blob([lines.map((row) => row.map(cell).join(",")).join("\n"), "\n"], { type: "text/csv" }));
  }

  csvOfLines(answers) {
    const rows = [["field", "unit", "source", "time", "least", "greatest"]];
    for (const { one, source, unit, numbers } of answers) {
      for (let at = 0; at + 2 < numbers.length; at += 3) rows.push([this.nameOf(one), unit ?? "", source, ...numbers.subarray(at, at + 3)]);
    }
    return rows;
  }

  /** A column for each element, or for each part of a long array. */
  csvOfHeat(answers) {
    const parts = answers.map(({ one, source, unit, numbers }) => ({ one, source, unit, ...heatOf(numbers) }));
    const widest = parts.flatMap(({ rows }) => rows).reduce((most, row) => (row.cells.length > most.cells.length ? row : most), { cells: [], elements: 0 });
    const { one, unit, dims } = parts[0] ?? { one: this.series[0], dims: [] };
    const count = widest.cells.length;
    const start = (cell) => Math.floor((cell * widest.elements) / count);
    const index = (element) => (dims.length === 2 ? `[${Math.floor(element / dims[1])}][${element % dims[1]}]` : `[${element}]`);
    const isWhole = widest.elements === count;
    const name = (cell) => this.nameOf(one) + (isWhole ? index(cell) : `[${start(cell)}..${start(cell + 1)}] farthest from 0`) + unitOf({ unit });
    const head = ["source", "time", ...Array.from({ length: count }, (_, cell) => name(cell))];
    return [head, ...parts.flatMap(({ source, rows }) => rows.map(({ time, cells }) => [source, time, ...cells]))];
  }

  csvOfArrays(answers) {
    const isGrid = answers.some(({ numbers }) => numbers[0] === 2);
    const rows = [["field", "unit", "source", ...(isGrid ? ["row", "column"] : ["index"]), "value"]];
    for (const { one, source, unit, numbers } of answers) {
      const columns = numbers[0] === 2 ? numbers[2] : 0;
      numbers.subarray(1 + (numbers[0] ?? 0)).forEach((number, index) => {
        const place = columns ? [Math.floor(index / columns), index % columns] : [index];
        rows.push([this.nameOf(one), unit ?? "", source, ...place, number]);
      });
    }
    return rows;
  }

  csvOfValues(answers) {
    const rows = [["field", "unit", "source", "time", "value"]];
    for (const { one, source, unit, last, values } of answers) {
      const name = this.column(one);
      values?.filter(([path]) => path === name).forEach(([, value]) => rows.push([this.nameOf(one), unit ?? "", source, last, value]));
    }
    return rows;
  }

  /** What the address keeps of it. */
  kept(places) {
    return { way: this.way, fields: this.series.map(({ place, record, path }) => [places[place].name, record, path]) };
  }
}

/** The name of a field in the records of a group: queries number their fields. */
const nameIn = ({ isWhole, series }, one) => (isWhole ? one.path : `c${series.indexOf(one)}`);

const isFast = ({ pace }) => typeof pace === "number" && pace < FAST;

/** A line: a field of a kind of records of a source, in the unit that these have. */
function lineOf(one, source, sources) {
  const { unit, symbols } = source.field ?? {};
  return { ...source, one, unit: unit ?? undefined, symbols: symbols ?? undefined, several: sources.some((other) => other.source !== source.source) };
}

/** Whether a field can be shown as that which a person has chosen. */
const isShown = (one, { shown }) => shown === one.shown;

/** The numbers that have none beside them, which no line shows. */
function alone(chart, series) {
  const numbers = chart.data[series];
  const isThere = (index) => numbers[index] !== null && numbers[index] !== undefined;
  const found = [];
  const [first, last] = chart.series[0].idxs ?? [0, numbers.length - 1];
  for (let index = first; index <= last; index++) if (isThere(index) && !isThere(index - 1) && !isThere(index + 1)) found.push(index);
  return found;
}

/** The source of a picture that has room for one: the newest of those that are there. */
const current = (lines) => lines.findLast(({ present }) => present) ?? lines.at(-1);

const unitOf = ({ unit }) => (unit ? ` [${unit}]` : "");

/** The title of an axis, if there is one. */
const labelled = (label) => (label ? { label, labelSize: 16, labelGap: 0, labelFont: "11px system-ui, sans-serif" } : {});

/** What the core tells of an array over time. */
function heatOf(numbers) {
  const rank = numbers[0] ?? 0;
  const rows = [];
  for (let at = 1 + rank; at + 2 < numbers.length; at += 3 + numbers[at + 2]) {
    rows.push({ time: numbers[at], elements: numbers[at + 1], cells: numbers.subarray(at + 3, at + 3 + numbers[at + 2]) });
  }
  return { dims: [...numbers.subarray(1, 1 + rank)], rows };
}

/** Writes words beside an image, each at its share of a side. */
function mark(axis, side, words) {
  const state = JSON.stringify(words);
  if (axis.dataset.words === state) return;
  axis.dataset.words = state;
  axis.replaceChildren(...words.map(([share, word]) => {
    const mark = h("span", {}, word);
    mark.style[side] = `${share * 100}%`;
    return mark;
  }));
}

/** The range of an axis for numbers from `least` to `greatest`: with some room, and without a place for 0 that is far away. */
function roomy(_, least, greatest) {
  if (least === null || greatest === null) return [0, 1];
  const size = Math.max(Math.abs(least), Math.abs(greatest));
  // Numbers that are equal, as far as doubles tell, get room that doubles can divide.
  const room = Math.max((greatest - least) * 0.1, size * 2 ** -48) || 1;
  return [least - room, greatest + room];
}

/** What a chart can draw of a number. */
const drawable = (number) => Math.abs(number) <= DRAWABLE ? number : null;

const same = (a, b) => a.place === b.place && a.record === b.record && a.path === b.path;
