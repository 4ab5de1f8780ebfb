// The worker that holds the connection: questions to it, and what the server tells.

let worker;
let last = 0;
const waiting = new Map();

/** Starts the worker. `told` gets each text of the server. */
export function start(key, told) {
  worker = new Worker("worker.js");
  worker.onmessage = ({ data }) => {
    if (data.told) return told(data.told);
    const { resolve, reject } = waiting.get(data.number);
    waiting.delete(data.number);
    if (data.error) reject(new Error(data.error));
    else resolve(data.answer);
  };
  const url = `ws://${location.host}/events`;
  return ask("start", { url, key });
}

/** Asks the worker. */
export function ask(what, about) {
  const number = ++last;
  return new Promise((resolve, reject) => {
    waiting.set(number, { resolve, reject });
    worker.postMessage({ number, ask: what, about });
  });
}
