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
