// A format as people see it: the layout drawn to scale, and its fields with units and meanings.

import { h, plural, table, to } from "./dom.js";

/** More rows than these of one field are drawn as the first, a note, and the last. */
const ROWS_OF_A_FIELD = 4;
/** More entries than these are not listed inside of nested structures. */
const LISTED = 1000;
const narrow = matchMedia("(max-width: 44rem)");

/** The last structure is the record. */
export function record(format) {
  return format.structures.at(-1);
}

export function machine(format) {
  return `${format["byte order"]}-endian, ${format.pointer * 8}-bit`;
}

/** The structure that a field nests, if it does. */
function nested(format, field) {
  const name = field.type.startsWith("structure ") ? field.type.slice("structure ".length) : field.type;
  return BASIC.test(field.type) ? undefined : format.structures.find((structure) => structure.name === name);
}

const BASIC = /^((unsigned )?(integer|enumeration)|(complex )?(float|bfloat|x87|double-double)|char|boolean|string)$/;

/** The bytes of a field within its structure: a pointer, or all of its elements. */
export function extent(format, field) {
  if (field.indirect) return format.pointer;
  return (field.dimensions ?? []).reduce((size, dimension) => size * dimension, field.size);
}

/** The type of a field in one word, with its dimensions. */
export function typeOf(field) {
  const bits = field.size * 8;
  const words = {
    "integer": `int${bits}`, "unsigned integer": `uint${bits}`, "float": `float${bits}`, "bfloat": `bfloat${bits}`,
    "boolean": `bool${bits}`, "enumeration": `enum${bits}`, "unsigned enumeration": `uenum${bits}`, "x87": "x87 float80",
  };
  const dimensions = (field.dimensions ?? []).map((dimension) => `[${dimension}]`).join("");
  return (words[field.type] ?? field.type) + dimensions;
}

function kindOf(format, field) {
  if (nested(format, field)) return "structure";
  if (/integer/.test(field.type)) return "integer";
  if (/char|string/.test(field.type)) return "text";
  if (/boolean|enumeration/.test(field.type)) return "choice";
  return "float";
}

/** The fields of a structure and the gaps between them, by offset. */
function spans(format, structure) {
  const list = [];
  let end = 0;
  const gap = (until) => until > end && list.push({ gap: true, offset: end, size: until - end });
  for (const field of structure.fields) {
    gap(field.offset);
    const size = extent(format, field);
    list.push({ field, offset: field.offset, size });
    end = field.offset + size;
  }
  gap(structure.size);
  return list;
}

export function gaps(format, structure) {
  return spans(format, structure).filter((span) => span.gap).reduce((sum, span) => sum + span.size, 0);
}

/** All fields with their paths and offsets from the record's start, nested ones behind the structure that holds them. */
export function paths(format) {
  const list = [];
  const walk = (structure, prefix, base, depth, relative) => {
    for (const span of spans(format, structure)) {
      if (list.length >= LISTED) return;
      const path = span.gap ? undefined : prefix + span.field.name;
      list.push({ ...span, path, offset: base + span.offset, depth, relative, structure: structure.name });
      const inner = span.field && nested(format, span.field);
      if (!inner) continue;
      // Elements of arrays, and what pointers lead to, have no one place in the record.
      const apart = relative || span.field.indirect || (span.field.dimensions?.length ?? 0) > 0;
      walk(inner, `${path}.`, apart ? 0 : base + span.offset, depth + 1, apart);
    }
  };
  walk(record(format), "", 0, 0, false);
  return list;
}

/** A structure drawn to scale: as many bytes in each line, each byte as wide as every other. */
function drawing(format, structure) {
  const width = narrow.matches || structure.size <= 8 ? 8 : 16;
  const bytes = Array.from({ length: width }, (_, at) => h("span", {}, at));
  const lines = [h("div", { class: "line ruler" }, h("span", { class: "offset" }, "byte"), columns(bytes, width))];
  const rows = Math.ceil(structure.size / width);
  const all = spans(format, structure);
  let first = 0;
  for (let row = 0; row < rows; row++) {
    const [start, end] = [row * width, (row + 1) * width];
    while (all[first].offset + all[first].size <= start) first++;
    const only = all[first];
    const last = Math.floor((only.offset + only.size) / width) - 1;
    if (only.offset < start && last - row + 1 > ROWS_OF_A_FIELD) {
      const left = (last - row) * width;
      lines.push(h("div", { class: "line elided" }, h("span", { class: "offset" }, "⋮"),
        h("p", {}, `${plural(left, "byte")} more of ${only.gap ? "the gap" : only.field.name}, not drawn`)));
      row = last - 1;
      continue;
    }
    const cells = [];
    for (let at = first; at < all.length && all[at].offset < end; at++) {
      cells.push(block(format, all[at], start, Math.min(end, structure.size)));
    }
    lines.push(h("div", { class: "line" }, h("span", { class: "offset", title: `0x${start.toString(16)}` }, start),
      columns(cells, width)));
  }
  return lines;
}

function columns(cells, width) {
  const line = h("div", { class: "bytes" }, cells);
  line.style.gridTemplateColumns = `repeat(${width}, 1fr)`;
  return line;
}

/** The part of a field or a gap that lies in one line. */
function block(format, span, start, end) {
  const from = Math.max(span.offset, start);
  const until = Math.min(span.offset + span.size, end);
  const begins = from === span.offset;
  const ends = until === span.offset + span.size;
  const class_ = ["block", span.gap ? "gap" : kindOf(format, span.field), begins && "begins", ends && "ends"];
  const text = span.gap
    ? [h("b", {}, until - from > 2 ? "gap" : "")]
    : begins ? [h("b", {}, span.field.name), h("small", {}, (span.field.indirect ? "→ " : "") + typeOf(span.field))] : [];
  const title = span.gap
    ? `gap: ${plural(span.size, "byte")} at ${span.offset}`
    : `${span.field.name}: ${typeOf(span.field)}, ${plural(span.size, "byte")} at ${span.offset}`;
  const element = h("div", { class: class_.filter(Boolean).join(" "), title }, text);
  element.style.gridColumn = `${from - start + 1} / ${until - start + 1}`;
  const count = span.gap || span.field.indirect ? 1 : span.size / span.field.size;
  if (count > 1) {
    // A line between elements, where elements begin.
    element.classList.add("elements");
    element.style.backgroundSize = `${(100 * span.field.size) / (until - from)}% 100%`;
  }
  return element;
}

/** The drawing of a structure, made again when the window becomes narrow or wide. */
function layout(format, structure) {
  const bytes = gaps(format, structure);
  const words = `${structure.name}: ${plural(structure.size, "byte")}, aligned to ${structure.alignment}, `
    + (bytes ? `${plural(bytes, "byte")} of gaps` : "no gaps");
  const picture = h("div", { class: "map", role: "img", "aria-label": `Layout of ${words}. The table of fields says the same.` },
    drawing(format, structure));
  narrow.addEventListener("change", () => picture.isConnected && picture.replaceChildren(...drawing(format, structure)));
  return h("figure", {}, h("figcaption", {}, h("strong", {}, structure.name), words.slice(structure.name.length)), picture);
}

/** What people say of a field. */
const meaning = (prose, path) => prose?.fields?.[path];

function rule(rules, entry) {
  const rule = rules?.[entry.structure]?.[entry.field.name];
  if (!rule) return undefined;
  const parts = [];
  if (rule.required) parts.push("required");
  if ("default" in rule) parts.push(`default ${JSON.stringify(rule.default) === "{}" ? "zero" : JSON.stringify(rule.default)}`);
  if (rule.aliases) parts.push(`also ${rule.aliases.join(", ")}`);
  return parts.join("; ");
}

function symbols(field) {
  const list = Object.entries(field.symbols ?? {}).map(([name, value]) => `${name} = ${value}`);
  return list.length ? h("div", { class: "symbols" }, list.join(", ")) : undefined;
}

function fields(format, prose, rules) {
  const list = paths(format);
  const some = (what) => list.some((entry) => entry.field && what(entry));
  const has = {
    unit: some((entry) => entry.field.unit),
    meaning: some((entry) => meaning(prose, entry.path) || entry.field.symbols),
    rule: some((entry) => rule(rules, entry)),
  };
  const headings = ["Offset", "Size", "Field", "Type", has.unit && "Unit", has.meaning && "Meaning", has.rule && "Readers"].filter(Boolean);
  const row = (entry) => {
    const place = h("td", { class: "number" }, (entry.relative ? "+" : "") + entry.offset);
    const size = h("td", { class: "number" }, entry.size);
    const indent = `level level-${Math.min(entry.depth, 6)}`;
    if (entry.gap) {
      return h("tr", { class: "gap" }, place, size, h("td", { class: indent }, "gap"), h("td", { colspan: headings.length - 3 }));
    }
    const { field } = entry;
    return h("tr", { "data-path": entry.path }, place, size,
      h("th", { scope: "row", class: indent, title: entry.path }, h("code", {}, field.name)),
      h("td", {}, h("code", {}, typeOf(field)), field.indirect && h("span", { class: "note" }, " by pointer")),
      has.unit && h("td", {}, field.unit),
      has.meaning && h("td", { class: "prose" }, meaning(prose, entry.path), symbols(field)),
      has.rule && h("td", { class: "rule" }, rule(rules, entry)));
  };
  const shown = table(`Fields of ${record(format).name}`, headings, list.map(row), { numbers: ["Offset", "Size"], class: "fields" });
  return list.length < LISTED ? shown : [shown, h("p", { class: "note" }, `The first ${LISTED.toLocaleString("en")} entries are listed.`)];
}

/** A format: facts, the drawing of each structure, the fields. */
export function formatView(format, { prose, rules } = {}) {
  const structure = record(format);
  const gap = gaps(format, structure);
  const fact = (name, ...value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
  return [
    h("dl", { class: "facts" },
      fact("Size", plural(structure.size, "byte")), fact("Alignment", structure.alignment),
      fact("Gaps", gap ? `${plural(gap, "byte")}, ${Math.round((100 * gap) / structure.size)} %` : "none"),
      fact("Machine", machine(format)),
      fact("Token", h("a", { href: to("format", format.token) }, h("code", { class: "token" }, format.token)))),
    h("h2", {}, "Layout"),
    [...format.structures].reverse().map((each) => layout(format, each)),
    h("p", { class: "legend" }, ["integer", "float", "text", "choice", "structure", "gap"].map((kind) =>
      h("span", {}, h("i", { class: `block ${kind}` }), { choice: "bool, enumeration" }[kind] ?? kind)),
      h("span", {}, "→ a pointer to what follows the record")),
    h("h2", {}, "Fields"),
    fields(format, prose, rules),
    h("p", { class: "note" }, "As ", h("a", { href: `formats/${format.token}`, download: format.token }, "description"), " or ",
      h("a", { href: `formats/${format.token}.json` }, "JSON"), "."),
  ];
}
