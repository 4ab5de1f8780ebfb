// Elements.

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

/** Sets the text of an element, if it is another one. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** A number for people. */
export function short(number) {
  if (!Number.isFinite(number)) return "–";
  const size = Math.abs(number);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return number.toExponential(3);
  return number.toLocaleString("en", { maximumSignificantDigits: 5 });
}

/** The numbers beside an axis: `words` tell them apart. If only their last digits differ, `offset` is a number in full that one has to add. */
export function ticked(numbers) {
  const step = Math.min(...numbers.slice(1).map((number, index) => Math.abs(number - numbers[index])));
  const size = Math.max(...numbers.map(Math.abs));
  if (!Number.isFinite(step) || step === 0 || size / step < (size < 1e6 ? 3e4 : 1e3)) return { words: numbers.map(compact), offset: "" };
  const round = 10 ** Math.ceil(Math.log10(numbers.at(-1) - numbers[0] + step));
  const base = exact(Math.floor(numbers[0] / round) * round);
  return { words: numbers.map((number) => `+${compact(exact(number - base))}`), offset: full(base) };
}

/** Without the digits that a sum of doubles has made up. */
const exact = (number) => Number(number.toPrecision(15));

/** All digits of a number. */
const full = (number) => Number.isInteger(number) ? BigInt(number).toLocaleString("en") : String(number);

/** Five digits of a number, in little room. */
function compact(number) {
  const text = short(number);
  return text.includes("e") ? text.replace(/\.?0*e\+?/, "e") : text;
}

/** A number in little room. */
export function brief(number) {
  if (!Number.isFinite(number)) return "–";
  const size = Math.abs(number);
  const text = size !== 0 && (size < 1e-3 || size >= 1e5) ? number.toExponential(1) : String(Number(number.toPrecision(3)));
  return text.replace(".0e", "e").replace("e+", "e");
}

/** A time of the day, in seconds since 1970, as exact as a span of time needs it. */
export function clock(seconds, span) {
  const digits = span < 0.1 ? 6 : span < 5 ? 3 : 0;
  const day = new Date(seconds * 1000).toLocaleTimeString("en-GB");
  return digits === 0 ? day : day + (seconds - Math.floor(seconds)).toFixed(digits).slice(1);
}

/** Hands a file to the person. */
export function download(name, blob) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
