// Connects a client that is not ours to `isoform watch`, as Foxglove and Lichtblick do, and reads what it gets with a reader that
// knows nothing of Isoform.
//
// viewers.cjs ISOFORM FOLDER, where the packages of package.json are installed

const assert = require("node:assert/strict");
const { spawn } = require("node:child_process");
const { once } = require("node:events");
const fs = require("node:fs");
const { createRequire } = require("node:module");
const os = require("node:os");
const path = require("node:path");

const [isoform, folder] = process.argv.slice(2).map((name) => path.resolve(name));
const packages = createRequire(path.join(folder, "package.json"));
const { FoxgloveClient } = packages("@foxglove/ws-protocol");
const { parse } = packages("@foxglove/rosmsg");
const { MessageReader } = packages("@foxglove/rosmsg2-serialization");
const WebSocket = packages("ws");

const SHAPE = `\
record Point
  x  double
  y  double
record Reach
  step    long
  big     unsigned long
  stage   enum { Low, Flood }
  is_wet  boolean
  depth   double unit="m"
  half    f16
  Place   string
  code    char[8]
  fixed   short[3]
  row     float[n]
  n       int
  grid    float[2][3]
  points  Point[2]
  huge    i128
`;

function record(step) {
  return {
    step, big: 18446744073709551615n, stage: step % 2 ? "Flood" : "Low", is_wet: true, depth: step / 8, half: 0.5, Place: "Süd",
    code: "KIEL", fixed: [1, -2, step], row: [step, 0.25], grid: [[1, 2, 3], [4, 5, 6]], points: [{ x: 1, y: 2 }, { x: 3, y: step }],
    huge: -3,
  };
}

// What the reader makes of it. Numbers of 64 bits are bigints, and names are those of ROS.
function read(step) {
  return {
    step: BigInt(step), big: 18446744073709551615n, stage: step % 2, is_wet: true, depth: step / 8, half: 0.5, x_x_x50lace: "Süd",
    code: "KIEL", fixed: Int16Array.of(1, -2, step), row: Float32Array.of(step, 0.25), n: 2, grid: Float32Array.of(1, 2, 3, 4, 5, 6),
    grid_xs: Uint32Array.of(2, 3), points: [{ x: 1, y: 2 }, { x: 3, y: step }], huge: BigInt64Array.of(-3n, -1n),
  };
}

function write(source, value) {
  // JSON of the library has no bigints, and the command takes any integer.
  const text = JSON.stringify(value, (_, one) => (typeof one === "bigint" ? `BIG${one}` : one)).replace(/"BIG(\d+)"/g, "$1");
  source.stdin.write(text + "\n");
}

// The next event that is enough.
function event(client, name, enough = () => true) {
  return new Promise((resolve) => {
    const look = (told) => {
      if (enough(told)) {
        client.off(name, look);
        resolve(told);
      }
    };
    client.on(name, look);
  });
}

async function connect(url, protocols, origin) {
  const socket = new WebSocket(url, protocols, { origin });
  const client = new FoxgloveClient({ ws: socket });
  const topics = new Map();
  client.on("error", (error) => {
    throw error;
  });
  client.on("advertise", (all) => all.forEach((topic) => topics.set(topic.topic, topic)));
  client.on("unadvertise", (ids) => topics.forEach((topic, name) => ids.includes(topic.id) && topics.delete(name)));
  const hello = await event(client, "serverInfo");
  assert(hello.name.startsWith("isoform "), hello.name);
  return { client, socket, topics };
}

async function topic(viewer, name) {
  while (!viewer.topics.has(name)) {
    await event(viewer.client, "advertise");
  }
  return viewer.topics.get(name);
}

// Subscribes, and writes records until the first has come. Returns the messages, to which others are added.
async function subscribed(viewer, name, source, write) {
  const { id, encoding, schemaEncoding, schema, schemaName } = await topic(viewer, name);
  assert.deepEqual([encoding, schemaEncoding], ["cdr", "ros2msg"]);
  const reader = new MessageReader(parse(schema, { ros2: true }));
  const [messages, subscription] = [[], viewer.client.subscribe(id)];
  viewer.client.on("message", ({ subscriptionId, timestamp, data }) => {
    if (subscriptionId === subscription) {
      messages.push({ timestamp, value: reader.readMessage(data) });
    }
  });
  while (messages.length === 0) {
    write();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { messages, schema, schemaName, subscription };
}

async function until(enough) {
  while (!enough()) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

let step = 0;
const before = BigInt(Date.now()) * 1_000_000n;

async function uses(url, protocols, origin, source, publish) {
  const viewer = await connect(url, protocols, origin);
  assert.equal(viewer.socket.protocol, protocols.at(-1));
  // A source that declares no format is seen with its first event. This one keeps the latest for those who come later.
  write(source, record(++step));
  const name = "river/0/Reach";
  const { messages, schema, schemaName, subscription } =
    await subscribed(viewer, name, source, () => write(source, record(++step)));
  assert.equal(schemaName, "isoform/msg/Reach");
  assert.match(schema, /^float64 depth # m$/m);
  const last = step + 50;
  while (step < last) {
    write(source, record(++step));
  }
  await until(() => Number(messages.at(-1).value.step) === last);
  for (const { value } of messages) {
    assert.deepEqual(value, read(Number(value.step)));
  }
  const steps = messages.map(({ value }) => Number(value.step));
  assert.deepEqual(steps, steps.map((_, at) => steps[0] + at), "all, in order");
  for (const [at, { timestamp }] of messages.entries()) {
    assert(timestamp > before && timestamp < BigInt(Date.now() + 1000) * 1_000_000n, `${timestamp}`);
    assert(at === 0 || timestamp >= messages[at - 1].timestamp);
  }

  // An event that is too long is told as lost.
  const lost = event(viewer.client, "status", ({ id }) => id === "lost river/0");
  write(source, { ...record(step), row: new Array(2_500_000).fill(0) });
  const { level, message } = await lost;
  assert.deepEqual([level, message], [1, "river/0: 1 lost (1: longer than the sink takes)"]);

  const parameters = event(viewer.client, "parameterValues");
  viewer.client.getParameters([], "all");
  assert.deepEqual(await parameters, { op: "parameterValues", parameters: [], id: "all" });

  // After the subscription has ended, nothing comes. Answers come in their order, so one shows it.
  viewer.client.unsubscribe(subscription);
  const [ended, answer] = [messages.length, event(viewer.client, "parameterValues")];
  viewer.client.getParameters([], "ended");
  await answer;
  write(source, record(++step));
  assert.equal(messages.length, ended);

  // Another source comes and goes.
  const other = publish();
  write(other, { step: 7 });
  let added;
  viewer.client.on("advertise", (all) => (added = all.find((one) => one.topic.endsWith("/Tick")) ?? added));
  await until(() => added);
  const more = await subscribed(viewer, added.topic, other, () => write(other, { step: 7 }));
  assert.deepEqual(more.messages[0].value, { step: 7 });
  const exited = once(other, "exit");
  other.stdin.end();
  await until(() => !viewer.topics.has(added.topic));
  await exited;
  assert(viewer.topics.has(name));
  viewer.client.close();
}

async function refused(url, protocols) {
  const socket = new WebSocket(url, protocols, { origin: "https://viewer.example" });
  const [, answer] = await once(socket, "unexpected-response");
  return answer.statusCode;
}

async function main() {
  const place = fs.mkdtempSync(path.join(os.tmpdir(), "viewers-"));
  const started = [];
  const start = (arguments_, stdio) => {
    const child = spawn(isoform, arguments_, { cwd: place, stdio });
    started.push(child);
    return child;
  };
  try {
    fs.writeFileSync(path.join(place, "reach.shape"), SHAPE);
    fs.writeFileSync(path.join(place, "tick.shape"), "record Tick\n  step  int\n");
    const id = `iso+unix://${place}/river.sock/river`;
    const source =
      start(["pub", "river", "--listen", `unix:${place}/river.sock`, "--shape", "reach.shape", "--wait", "0", "--keep", "1"], ["pipe", "ignore", "inherit"]);
    const publish = () => start(["pub", id, "--shape", "tick.shape", "--wait", "0", "--keep", "1"], ["pipe", "ignore", "inherit"]);
    const watch = start(["watch", id], ["ignore", "ignore", "pipe"]);
    let said = "";
    watch.stderr.on("data", (text) => (said += text));
    await until(() => /ws:\S+\n/.test(said));
    const url = said.match(/ws:\S+/)[0];
    await uses(url, ["foxglove.websocket.v1"], "https://app.foxglove.dev", source, publish);
    await uses(url, ["chat", "foxglove.sdk.v1"], undefined, source, publish);
    assert.equal(await refused(`${url}0`, ["foxglove.websocket.v1"]), 403);
    assert.equal(await refused(new URL("/viewers/", url).href, ["foxglove.websocket.v1"]), 404);
    assert.equal(await refused(url, ["chat"]), 400);
    console.log("watch: viewers of Foxglove's protocol: passed");
  } finally {
    started.forEach((child) => child.kill("SIGINT"));
    await Promise.all(started.filter((child) => child.exitCode === null && child.signalCode === null).map((child) => once(child, "exit")));
    fs.rmSync(place, { recursive: true });
  }
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
