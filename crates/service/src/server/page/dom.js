// Elements, and requests to the server.

/** An element. Attributes that are false or undefined are left out; children are nodes and texts, and lists of them. */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

/** An answer of the server that is an error. */
export class Problem extends Error {
  constructor(status, body) {
    super(body.title ?? `HTTP status ${status}`);
    this.status = status;
    this.body = body;
  }
}

let secret = null;

/** Shows this secret with every later request. It is kept for as long as the page is open. */
export function showSecret(text) {
  secret = text;
}

/** What the server answers to GET of this path, as JSON. */
export async function ask(path) {
  const headers = secret === null ? {} : { Authorization: `Bearer ${secret}` };
  let answer;
  try {
    answer = await fetch(path, { headers });
  } catch {
    throw new Problem(0, { title: "the server does not answer" });
  }
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Problem(answer.status, body);
  return body;
}

/** The JSON of a format, which never changes. */
const formats = new Map();
export async function format(token) {
  if (!formats.has(token)) formats.set(token, await ask(`formats/${token}.json`));
  return formats.get(token);
}

/** A URL of this page. */
export function to(...steps) {
  return `#/${steps.map(encodeURIComponent).join("/")}`;
}

export function plural(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** A table with a row of headings. Rows are lists of cells, or elements. */
export function table(caption, headings, rows, options = {}) {
  const heading = (text) => h("th", { scope: "col", class: options.numbers?.includes(text) ? "number" : undefined }, text);
  const cell = (content, at) =>
    content instanceof HTMLTableCellElement
      ? content
      : h("td", { class: options.numbers?.includes(headings[at]) ? "number" : undefined }, content ?? "");
  const row = (cells) => (cells instanceof HTMLTableRowElement ? cells : h("tr", {}, cells.map(cell)));
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    h("table", { class: options.class }, h("caption", { class: "unseen" }, caption),
      h("thead", {}, h("tr", {}, headings.map(heading))), h("tbody", {}, rows.map(row))));
}
