// The page: what each address shows.

import { Problem, ask, format, h, plural, showSecret, table, to } from "./dom.js";
import { formatView, machine, record } from "./layout.js";
import { chooser, compareView } from "./compare.js";

const main = document.getElementById("main");
const query = document.getElementById("query");
const PAGE = 100;

function nameTable(names) {
  return table("Names", ["Name", "Versions", "Latest", "Rule"], names.map((name) => [
    h("a", { href: to("name", name.name) }, name.name), name.versions, name.latest ?? (name.versions ? "all retired" : "none yet"), rule(name.rule),
  ]), { numbers: ["Versions", "Latest"] });
}

const rule = (word) => word.toLowerCase().replaceAll("_", " ");

function formatTable(formats, caption) {
  return table(caption, ["Name", "Size", "Machine", "Token"], formats.map((each) => [
    h("a", { href: to("format", each.token) }, each.name), each.size, each.machine, h("code", { class: "token" }, each.token),
  ]), { numbers: ["Size"] });
}

const more = (href) => h("p", {}, h("a", { href }, "More"));

async function namesView(after) {
  const start = after === undefined ? "" : `&after=${encodeURIComponent(after)}`;
  const answer = await ask(`names?limit=${PAGE}${start}`);
  return [
    h("h1", { tabindex: -1 }, "Names"),
    answer.names.length ? nameTable(answer.names)
      : h("p", {}, "No format has a name yet. ", h("a", { href: to("formats") }, "All formats"), " are listed by token."),
    answer.next !== undefined && more(to("after", answer.next)),
  ];
}

async function formatsView(after) {
  const start = after === undefined ? "" : `&after=${after}`;
  const answer = await ask(`formats?limit=${PAGE}${start}`);
  return [
    h("h1", { tabindex: -1 }, "All formats"),
    answer.formats.length ? formatTable(answer.formats, "Formats") : h("p", {}, "No format is registered yet."),
    answer.next !== undefined && more(to("formats", answer.next)),
  ];
}

async function nameView(name, number, token) {
  const state = await ask(`names/${encodeURIComponent(name)}`);
  const standing = state.versions.filter((version) => !version.retired);
  const latest = standing.at(-1) ?? state.versions.at(-1);
  const version = number === undefined ? latest : state.versions.find((version) => version.number === Number(number));
  const { prose } = state;
  const head = [
    h("h1", { tabindex: -1 }, name),
    prose.about && h("p", { class: "about" }, prose.about),
    h("p", { class: "note" }, `Rule: ${rule(state.rule)}.`, prose.owner && ` Owner: ${prose.owner}.`),
  ];
  if (!version) return [...head, h("p", {}, "There is no such version.")];
  const all = await Promise.all(version.formats.map(format));
  const chosen = all.find((each) => each.token === token) ?? all[0];
  const count = state.versions.length;
  const row = (each) => h("tr", { class: each.retired ? "retired" : undefined, "aria-current": each === version ? "true" : undefined },
    h("th", { scope: "row", class: "number" }, h("a", { href: to("name", name, each.number) }, each.number)),
    h("td", {}, date(each.registered)),
    h("td", { class: "number" }, each.formats.length),
    h("td", {}, each.retired ? "retired" : each === standing.at(-1) ? "latest" : ""));
  return [
    ...head,
    h("h2", {}, "Versions"),
    table("Versions", ["Version", "Registered", "Machines", "State"], [...state.versions].reverse().map(row),
      { numbers: ["Version", "Machines"], class: "short" }),
    count > 1 && chooser(name, state.versions, state.versions.at(-2).number, state.versions.at(-1).number),
    h("h2", { class: "version" }, `Version ${version.number}`, version.retired && h("span", { class: "note" }, " retired")),
    all.length > 1 && h("nav", { class: "tabs", "aria-label": "Machines" }, all.map((each) =>
      h("a", { href: to("name", name, version.number, each.token), "aria-current": each === chosen ? "true" : undefined }, machine(each)))),
    ...formatView(chosen, { prose, rules: version.rules }),
  ];
}

const date = (seconds) => {
  const iso = new Date(seconds * 1000).toISOString();
  return h("time", { datetime: iso }, `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`);
};

async function tokenView(token) {
  const found = await format(token);
  const { name } = record(found);
  const others = await ask(`formats?name=${encodeURIComponent(name)}&limit=2`);
  return [
    h("h1", { tabindex: -1 }, name),
    others.formats.length > 1 && h("p", {}, h("a", { href: to("search", name) }, `Other formats that are named ${name}`)),
    ...formatView(found),
  ];
}

/** The first entries of a list. A server may answer that it has looked at a part and found nothing in it yet. */
async function firstOf(path, entries) {
  let answer = await ask(`${path}&limit=${PAGE}`);
  for (let parts = 0; parts < 100 && answer[entries].length === 0 && answer.next !== undefined; parts++) {
    answer = await ask(`${path}&limit=${PAGE}&after=${encodeURIComponent(answer.next)}`);
  }
  return answer;
}

async function searchView(text) {
  const wanted = encodeURIComponent(text);
  const [names, containing, fielded] = await Promise.all([
    firstOf(`names?text=${wanted}`, "names"), firstOf(`formats?text=${wanted}`, "formats"),
    text.includes(".") ? firstOf(`formats?field=${wanted}`, "formats") : { formats: [] },
  ]);
  const some = (answer, list) => plural(list.length, "", "").trim() + (answer.next === undefined ? "" : " and more");
  const part = (title, answer, list, shown) => list.length > 0 && [h("h2", {}, title, h("span", { class: "note" }, ` ${some(answer, list)}`)), shown(list)];
  const nothing = [names.names, containing.formats, fielded.formats].every((list) => list.length === 0);
  return [
    h("h1", { tabindex: -1 }, "Search: ", h("q", {}, text)),
    nothing && h("p", {}, "Nothing was found. Search for a part of a name or of a field's name, for the whole path of a field, or for a token."),
    part(`Names with ${text}`, names, names.names, nameTable),
    part(`Records with ${text} in their name or in that of a field`, containing, containing.formats, (list) => formatTable(list, "Formats by name")),
    part(`Records with a field ${text}`, fielded, fielded.formats, (list) => formatTable(list, "Formats by field")),
  ];
}

function problemView(problem) {
  const { expected, found, field } = problem.body;
  const line = (name, text) => text && h("div", {}, h("dt", {}, name), h("dd", {}, text));
  const enter = (event) => {
    event.preventDefault();
    showSecret(event.target.querySelector("input").value);
    show();
  };
  const isWrong = problem.status === 403 && found === "another secret";
  const asksSecret = problem.status === 401 || isWrong;
  return [
    h("h1", { tabindex: -1 }, asksSecret ? "This server asks readers for a secret" : problem.message),
    isWrong && h("p", { role: "alert" }, "The server does not accept this secret."),
    asksSecret
      ? h("form", { class: "chooser", onsubmit: enter }, h("label", { for: "secret" }, "Secret"),
          h("input", { id: "secret", type: "password", autocomplete: "current-password" }), h("button", {}, "Show formats"))
      : h("dl", { class: "facts" }, line("Field", field), line("Expected", expected), line("Found", found)),
  ];
}

function view([kind, ...rest]) {
  if (kind === undefined || kind === "") return namesView();
  if (kind === "after") return namesView(rest[0]);
  if (kind === "formats") return formatsView(rest[0]);
  if (kind === "name") return nameView(...rest);
  if (kind === "compare") return compareView(rest[0], Number(rest[1]), Number(rest[2]));
  if (kind === "format") return tokenView(rest[0]);
  if (kind === "search") return searchView(rest[0] ?? "");
  throw new Problem(404, { title: "no such page" });
}

/** The steps of the address, or null for a place within the page. */
function steps() {
  const hash = location.hash;
  if (hash !== "" && !hash.startsWith("#/")) return null;
  try {
    return hash.slice(2).split("/").map(decodeURIComponent);
  } catch {
    return ["?"];
  }
}

let shown = 0;
async function show() {
  const where = steps();
  if (where === null) return;
  const turn = ++shown;
  main.setAttribute("aria-busy", "true");
  let content;
  try {
    content = await view(where);
  } catch (error) {
    content = problemView(error instanceof Problem ? error : new Problem(0, { title: String(error) }));
  }
  if (turn !== shown) return;
  const before = main.querySelector("h1");
  main.replaceChildren(...content.flat(Infinity).filter(Boolean));
  main.removeAttribute("aria-busy");
  for (const [id, kinds] of [["to-names", ["", "after", "name", "compare"]], ["to-formats", ["formats", "format"]]]) {
    const link = document.getElementById(id);
    if (kinds.includes(where[0])) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  query.value = where[0] === "search" ? where[1] ?? "" : "";
  const title = main.querySelector("h1");
  document.title = `${title?.textContent ?? "Formats"} – Isoform`;
  // At the first time, the browser has its own place.
  if (before) {
    scrollTo(0, 0);
    title?.focus({ preventScroll: true });
  }
}

document.getElementById("search").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = query.value.trim();
  if (text === "") return;
  const digits = text.replaceAll("-", "").toLowerCase();
  location.hash = /^[0-9a-f]{32}$/.test(digits) ? to("format", digits) : to("search", text);
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !event.target.closest("input, select, textarea")) {
    event.preventDefault();
    query.focus();
    query.select();
  }
});
addEventListener("hashchange", show);
show();
