/** What a device takes, printed: 200 training steps with F = 20, the best ten of 50,000 items, a proof of pairs. */

import type { FederationInfo } from "../src/channel/layout.ts";
import { Cfpl } from "../src/methods/cfpl.ts";
import type { History } from "../src/methods/method.ts";
import { Rng, Stream } from "../src/numerics/philox.ts";
import { topK } from "../src/numerics/ranking.ts";
import { NOISY, PAIRS, provedUpload } from "./proofs.ts";

const FACTORS = 20;
const STEPS = 200;
const RUNS = 50;
const PROOFS = 5;
const SETTINGS = {
  factors: FACTORS,
  alpha: 0.05,
  triples: STEPS,
  sampling: "clients",
  rate_decay: 0,
  version: "B",
  fold_in: 20,
  precision: "float32",
  optimiser: "adagrad",
  warm: 0,
  refresh: 0,
  prior: false,
};

function federation(items: number): { info: FederationInfo; model: Record<string, Float32Array> } {
  const listed = Array.from({ length: items }, (_, item) => item);
  const drawn = new Stream([1, 2], 0, 1024);
  const normals = (n: number) => Float32Array.from(drawn.normals(n), (x) => 0.1 * x);
  const info = { items, listed, clients: 1000, interactions: 1000 * STEPS, people: 1, counts: null };
  return { info, model: { Q: normals(items * FACTORS), b: normals(items) } };
}

/** Milliseconds of one call: the median and the first, which is cold. */
async function measured(work: () => unknown, runs = RUNS): Promise<{ median: number; first: number }> {
  const times: number[] = [];
  for (let run = 0; run < runs; run++) {
    const begun = performance.now();
    await work();
    times.push(performance.now() - begun);
  }
  const first = times[0]!;
  return { median: times.sort((a, b) => a - b)[runs >> 1]!, first };
}

/** One line; more than `most` milliseconds fail. */
async function printMedian(what: string, work: () => unknown, most: number, runs = RUNS): Promise<void> {
  const { median, first } = await measured(work, runs);
  console.log(`${what}: ${median.toFixed(2)} ms (median of ${runs}; first ${first.toFixed(2)} ms; limit ${most} ms)`);
  if (median > most) process.exitCode = 1;
}

function history(info: FederationInfo): History {
  const item = Int32Array.from(new Stream([3, 4], 0, 1024).choose(info.items, 100));
  return { item, value: new Float64Array(100).fill(1), consent: new Float64Array(100).fill(1), time: null };
}

/** The same best ten as a whole sort gives: both sides did the same work. */
function checked(scores: ArrayLike<number>, info: FederationInfo, best: readonly number[]): void {
  const sorted = [...info.listed].sort((a, b) => scores[b]! - scores[a]! || a - b).slice(0, best.length);
  if (sorted.join() !== best.join()) throw new Error("the best ten must be those of a whole sort, but are not");
}

for (const items of [3706, 50_000]) {
  const { info, model } = federation(items);
  const own = history(info);
  const method = Cfpl.of(SETTINGS);
  const context = { info, phase: "train", round: 1, model };
  const rng = new Rng([5, 6], 1);
  const state = method.clientInit(info, own, rng);
  const ranked = () => topK(method.clientScore(context, state), info.listed, 10, () => true);
  checked(method.clientScore(context, state), info, ranked());
  const steps = () => method.clientStep(context, state, own, rng);
  await printMedian(`${STEPS} training steps, F = ${FACTORS}, ${items} items`, steps, 5);
  await printMedian(`scores and best ten, ${items} items`, ranked, 20);
}
for (const [what, claim] of [
  ["pairs of 2314 among 3416 items", PAIRS],
  ["noisy pairs of 605 among 1000 items", NOISY],
] as const) {
  const upload = provedUpload(claim);
  const bytes = await upload.after();
  await printMedian(`halves of the ${what}`, upload.before, 2000, PROOFS);
  await printMedian(`their proof, ${bytes} bytes`, upload.after, 2000, PROOFS);
}
