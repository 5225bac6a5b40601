/**
 * The page's device without its screens, for tests alone:
 *
 *     node device.js LINK LIKES SECRET MINIMUM PI
 *
 * LIKES is a CSV `item[,time]`, SECRET two words "a,b" in place of the system's. It joins, takes part until the
 * federation is finished, and prints one JSON object per line: every outcome, then what it recommends and sent.
 */

import { readFileSync } from "node:fs";
import { Device } from "../src/device/browser_device.ts";
import { systemRandomness } from "../src/device/open.ts";
import { MemoryStorage } from "../src/device/storage.ts";
import { here, type Trainer } from "../src/device/training.ts";
import type { Like } from "../src/device/types.ts";
import { fetchTransport } from "../src/protocol/transport.ts";

const [link = "", likes = "", secret = "", minimum = "100", pi = "1"] = process.argv.slice(2);
const tell = (message: object) => process.stdout.write(`${JSON.stringify(message)}\n`);

/** The first random bytes a device asks for are its secret's; all others are the system's. */
function withSecret(words: readonly number[]): typeof systemRandomness {
  let first = words.length === 2;
  return (bytes) => {
    if (!first || bytes !== 8) return systemRandomness(bytes);
    first = false;
    return new Uint8Array(Uint32Array.from(words).buffer);
  };
}

/** Every step is told with all it was made of, so that another implementation can make it again. */
const observed: Trainer = {
  ...here,
  train: async (request) => {
    const made = await here.train(request);
    const numbers = (of: object | null) => mapped(of, (values) => Array.from(values));
    const { phase, round, largest, history } = request;
    const { item, consent } = numbers(history);
    tell({
      event: "step",
      phase,
      round,
      largest,
      item,
      consent,
      model: numbers(request.model),
      before: numbers(request.state),
      after: numbers(made.state),
      vector: Array.from<number | bigint, number | string>(made.vector, (word) =>
        typeof word === "bigint" ? String(word) : word,
      ),
    });
    return made;
  },
};

function mapped(of: object | null, to: (values: Iterable<number>) => number[]): Record<string, number[]> {
  const arrays = Object.entries(of ?? {}).filter(([, values]) => ArrayBuffer.isView(values));
  return Object.fromEntries(arrays.map(([name, values]) => [name, to(values as unknown as Iterable<number>)]));
}

const storage = new MemoryStorage();
const device = await Device.open({
  storage,
  send: fetchTransport,
  trainer: observed,
  clock: () => Date.now() / 1000,
  sleep: (seconds) => new Promise((resolve) => setTimeout(resolve, 100 * seconds)), // tests do not wait long
  entropy: withSecret(secret ? secret.split(",").map(Number) : []),
  alone: (work) => work(),
});
const rows = readFileSync(likes, "utf-8")
  .trim()
  .split("\n")
  .map((line) => line.split(","));
await device.look(link);
const numbers = device.find(rows.map(([item]) => item!));
await device.setLikes(
  rows.flatMap(([, time], n): Like[] => {
    const item = numbers[n];
    return item === null || item === undefined ? [] : [{ item, time: time ? Number(time) : null, value: 1 }];
  }),
);
await device.allow({ train: true, statistics: true, pi: Number(pi) });
await device.join({ minimum: Number(minimum), exact: true });
await device.stay(new AbortController().signal, (outcome) => tell({ event: "visit", ...outcome }));
await device.look(link);
const { labels } = device.catalogue();
const ledger = await device.ledger();
const ranking = await device.recommend(10);
tell({ event: "recommended", items: ranking.list.map(({ item }) => labels[item]), model: ranking.model });
tell({
  event: "ledger",
  entries: ledger.entries,
  traffic: ledger.traffic,
  bytesUp: ledger.bytesUp,
  files: await device.journalFiles(),
});
