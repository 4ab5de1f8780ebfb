// The address of the page: the key, and the arrangement of the plots, so that a copy of the address shows the same.

/** The parts of the address behind #. */
export function read() {
  const parts = new URLSearchParams(location.hash.slice(1));
  let arrangement = {};
  try {
    arrangement = JSON.parse(parts.get("show") ?? "{}");
  } catch {
    // An arrangement that was cut shows nothing.
  }
  return { key: parts.get("key") ?? "", arrangement };
}

export function write(arrangement) {
  const parts = new URLSearchParams(location.hash.slice(1));
  parts.set("show", JSON.stringify(arrangement));
  history.replaceState(null, "", `#${parts}`);
}

/** The query for these paths: each becomes a field c0, c1 and so on. */
export function query(paths) {
  return `select ${paths.map((path, index) => `c${index} = ${quoted(path)}`).join(", ")}`;
}

/** The query for the least and the greatest number of these paths, c0 and d0 and so on, in each of such times. */
export function extremes(paths, milliseconds) {
  const items = paths.map(quoted).map((path, index) => `c${index} = min(${path}), d${index} = max(${path})`);
  return `window ${milliseconds} ms | select ${items.join(", ")}`;
}

const RESERVED = new Set("and or not in true false where select every changed by window key if else then".split(" "));

/** A path in the words of queries. */
function quoted(path) {
  return path.split(".").map((part) => {
    const [, name, indices] = /^(.*?)((?:\[\d+\])*)$/s.exec(part);
    if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !RESERVED.has(name)) return part;
    return `\`${name.replace(/[\\`]/g, "\\$&")}\`${indices}`;
  }).join(".");
}
