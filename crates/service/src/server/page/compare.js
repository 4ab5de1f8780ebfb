// The difference of two versions, and whether readers of each can read records of the other.

import { ask, format, h, plural, table, to } from "./dom.js";
import { machine, paths, record, typeOf } from "./layout.js";

/** The formats of both versions for one kind of machine, or the first ones. */
async function pair(older, newer) {
  const [before, after] = await Promise.all([older, newer].map((version) => Promise.all(version.formats.map(format))));
  for (const one of before) {
    const other = after.find((candidate) => machine(candidate) === machine(one));
    if (other) return [one, other];
  }
  return [before[0], after[0]];
}

const fieldsOf = (format) => new Map(paths(format).filter((entry) => entry.field).map((entry) => [entry.path, entry]));

function changes(before, after) {
  const parts = [];
  if (typeOf(before.field) !== typeOf(after.field)) parts.push("type");
  if ((before.field.unit ?? "") !== (after.field.unit ?? "")) parts.push("unit");
  if (JSON.stringify(before.field.symbols) !== JSON.stringify(after.field.symbols)) parts.push("symbols");
  if (!before.field.indirect !== !after.field.indirect) parts.push("pointer");
  if (before.offset !== after.offset || before.relative !== after.relative) parts.push("offset");
  return parts;
}

function differences(before, after) {
  const [old, fresh] = [fieldsOf(before), fieldsOf(after)];
  const all = [...fresh.keys(), ...[...old.keys()].filter((path) => !fresh.has(path))];
  const cell = (entry) => entry
    ? h("td", {}, h("code", {}, typeOf(entry.field)), entry.field.unit && ` ${entry.field.unit}`,
        h("span", { class: "note" }, ` at ${entry.relative ? "+" : ""}${entry.offset}`))
    : h("td", { class: "note" }, "–");
  let equal = 0;
  // Fields that only lie elsewhere come last.
  const [rows, moved] = [[], []];
  for (const path of all) {
    const [was, is] = [old.get(path), fresh.get(path)];
    const what = !was ? ["added"] : !is ? ["removed"] : changes(was, is);
    if (!what.length) {
      equal += 1;
      continue;
    }
    const kind = !was ? "added" : !is ? "removed" : what.every((part) => part === "offset") ? "moved" : "changed";
    const word = kind === "changed" ? `${what.join(", ")} changed` : kind;
    const row = h("tr", { class: kind }, h("th", { scope: "row" }, h("code", {}, path)), h("td", { class: "word" }, word), cell(was), cell(is));
    (kind === "moved" ? moved : rows).push(row);
  }
  return { rows: [...rows, ...moved], equal };
}

function verdict(reader, writer, answer) {
  const compatible = answer.compatible;
  const faults = answer.fields.map((fault) =>
    [h("code", {}, fault.path || "–"), fault.error, fault.expected, fault.found]);
  return h("section", { class: `verdict ${compatible ? "yes" : "no"}` },
    h("h3", {}, h("span", { class: "sign", "aria-hidden": "true" }, compatible ? "✓" : "✗"),
      compatible ? `Version ${reader} reads version ${writer}` : `Version ${reader} cannot read version ${writer}`),
    faults.length > 0 && table(`Why version ${reader} cannot read version ${writer}`, ["Field", "Error", "Expected", "Found"], faults),
    h("details", {}, h("summary", {}, "Plan, field by field"), h("pre", { tabindex: 0 }, answer.explained)));
}

/** Links to a comparison, by two choices. */
export function chooser(name, versions, older, newer) {
  const choice = (id, label, chosen) => [
    h("label", { for: id }, label),
    h("select", { id }, versions.map((version) =>
      h("option", { value: version.number, selected: version.number === chosen }, version.number + (version.retired ? ", retired" : "")))),
  ];
  const submit = (event) => {
    event.preventDefault();
    const value = (id) => event.target.querySelector(`#${id}`).value;
    location.hash = to("compare", name, value("older"), value("newer"));
  };
  return h("form", { class: "chooser", onsubmit: submit },
    choice("older", "Compare version", older), choice("newer", "with version", newer), h("button", {}, "Compare"));
}

/** Two versions of a name. */
export async function compareView(name, older, newer) {
  const state = await ask(`names/${encodeURIComponent(name)}`);
  const [old, fresh] = [older, newer].map((number) => state.versions.find((version) => version.number === number));
  if (!old || !fresh) return [h("h1", { tabindex: -1 }, name), h("p", {}, "There is no version of this number.")];
  const reads = (reader, writer) => ask(`names/${encodeURIComponent(name)}/compare?reader=${reader}&writer=${writer}`);
  const [forth, back, [before, after]] = await Promise.all([reads(newer, older), reads(older, newer), pair(old, fresh)]);
  const { rows, equal } = differences(before, after);
  const sizes = [before, after].map((format) => record(format).size);
  const machines = machine(before) === machine(after) ? machine(before) : `${machine(before)}, and ${machine(after)}`;
  return [
    h("p", { class: "path" }, h("a", { href: to("name", name) }, name)),
    h("h1", { tabindex: -1 }, `Version ${older} and version ${newer}`),
    chooser(name, state.versions, older, newer),
    h("h2", {}, "Verdict"),
    h("div", { class: "verdicts" }, verdict(newer, older, forth), verdict(older, newer, back)),
    h("h2", {}, "Differences"),
    h("p", { class: "note" }, `${machines}. `,
      sizes[0] === sizes[1] ? `Both have ${plural(sizes[0], "byte")}. ` : `${sizes[0]} bytes became ${sizes[1]}. `,
      equal > 0 && `${plural(equal, "field is", "fields are")} equal.`),
    rows.length
      ? table(`Fields that differ`, ["Field", "Difference", `Version ${older}`, `Version ${newer}`], rows, { class: "differences" })
      : h("p", {}, "The fields are equal. What readers accept may differ."),
  ];
}
