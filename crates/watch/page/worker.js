// The connection to the server, and the core that keeps what comes. The page asks; each question has one answer.

let core;
let socket;
let newest = 0; // of all events, in seconds since 1970
let seen = 0; // when it came

const text = new TextDecoder();
const bytes = new TextEncoder();

/** Hands bytes to the core. */
function give(data) {
  const place = core.input(data.length) >>> 0;
  if (place === 0) throw new Error("a message is too long for the page");
  new Uint8Array(core.memory.buffer, place, data.length).set(data);
}

function output() {
  return new Uint8Array(core.memory.buffer, core.output() >>> 0, core.output_length());
}

const json = () => JSON.parse(text.decode(output().slice()));
const numbers = () => new Float64Array(output().slice().buffer);

/** Answers each question once. */
function once(answer) {
  const known = new Map();
  return (...question) => {
    const name = question.join(" ");
    if (!known.has(name)) known.set(name, answer(...question));
    return known.get(name);
  };
}

/** The fields that the page shows of a kind of records, which never change. */
const fields = new Map();
function fieldsOf(id, { source, kind }) {
  if (kind === null) return [];
  if (!fields.has(id)) fields.set(id, new Map());
  const known = fields.get(id);
  const name = `${source} ${kind}`;
  if (!known.has(name)) {
    core.about(id, source, kind);
    known.set(name, json());
  }
  return known.get(name);
}

const questions = {
  /** What can be drawn now: one answer for each wish. `to` is the newest time if the page follows it. */
  frame({ span, to, wishes }) {
    const now = performance.now();
    const end = to ?? newest + Math.min((now - seen) / 1000, span / 5);
    // Plots share subscriptions.
    const sources = once((id) => {
      core.sources(id);
      return json();
    });
    const gaps = once((id, source) => {
      core.gaps(id, source);
      return json();
    });
    const answers = wishes.map((wish) => {
      return sources(wish.id).map((source) => {
        const { source: number, kind } = source;
        const answer = { ...source, field: fieldsOf(wish.id, source)[wish.column], holes: source.holes?.[wish.column] };
        if (kind === null) return answer;
        if (wish.way === "line") {
          core.draw(wish.id, number, kind, wish.column, end - span, end, wish.pixels);
          answer.numbers = numbers();
          answer.gaps = gaps(wish.id, number);
        } else if (wish.way === "heat") {
          core.heat(wish.id, number, kind, wish.column);
          answer.numbers = numbers();
        } else if (wish.way === "values") {
          core.values(wish.id, number, kind);
          answer.values = json();
        } else {
          core.newest(wish.id, number, kind, wish.column);
          answer.numbers = numbers();
        }
        return answer;
      });
    });
    return { from: end - span, to: end, answers };
  },
  /** The sources of a subscription with their kinds of records, and the newest values of each. */
  look({ id }) {
    core.sources(id);
    return json().map((source) => {
      if (source.kind === null) return { ...source, values: [] };
      core.values(id, source.source, source.kind);
      return { ...source, values: json() };
    });
  },
  format({ id, source, kind }) {
    core.format(id, source, kind);
    return json();
  },
  subscribe({ id, want, ...wish }) {
    give(bytes.encode(JSON.stringify(want)));
    core.want(id);
    socket.send(JSON.stringify({ subscribe: id, ...wish }));
  },
  unsubscribe({ id }) {
    socket.send(JSON.stringify({ unsubscribe: id }));
    core.forget(id);
    fields.delete(id);
  },
  info({ place }) {
    socket.send(JSON.stringify({ info: place }));
  },
  player(wish) {
    socket.send(JSON.stringify({ player: wish }));
  },
};

function took(data) {
  give(new Uint8Array(data));
  const last = core.last(core.push());
  if (last > newest) {
    newest = last;
    seen = performance.now();
  }
}

async function start({ url, key }) {
  const { instance } = await WebAssembly.instantiateStreaming(fetch("core.wasm"));
  core = instance.exports;
  socket = new WebSocket(url);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => socket.send(JSON.stringify({ key }));
  socket.onclose = ({ code, reason }) => postMessage({ told: { closed: code, reason } });
  socket.onmessage = ({ data }) => {
    if (typeof data === "string") postMessage({ told: JSON.parse(data) });
    else {
      try {
        took(data);
      } catch (error) {
        postMessage({ told: { failed: String(error) } });
      }
    }
  };
}

onmessage = async ({ data: { number, ask, about } }) => {
  try {
    const answer = ask === "start" ? await start(about) : questions[ask](about);
    postMessage({ number, answer });
  } catch (error) {
    postMessage({ number, error: String(error) });
  }
};
