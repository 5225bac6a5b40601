/** What training and ranking take, printed: 200 steps with F = 20, and the best ten of 50,000 items. */

import type { FederationInfo } from "../src/channel/layout.ts";
import { Cfpl } from "../src/methods/cfpl.ts";
import type { History } from "../src/methods/method.ts";
import { Rng, Stream } from "../src/numerics/philox.ts";
import { topK } from "../src/numerics/ranking.ts";

const FACTORS = 20;
const STEPS = 200;
const RUNS = 50;
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
function measured(work: () => unknown): { median: number; first: number } {
  const times = Array.from({ length: RUNS }, () => {
    const begun = performance.now();
    work();
    return performance.now() - begun;
  });
  const first = times[0]!;
  return { median: times.sort((a, b) => a - b)[RUNS >> 1]!, first };
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
  const training = measured(() => method.clientStep(context, state, own, rng));
  const ranked = () => topK(method.clientScore(context, state), info.listed, 10, () => true);
  checked(method.clientScore(context, state), info, ranked());
  const ranking = measured(ranked);
  for (const [what, { median, first }, most] of [
    [`${STEPS} training steps, F = ${FACTORS}`, training, 5],
    ["scores and best ten", ranking, 20],
  ] as const) {
    console.log(
      `${what}, ${items} items: ${median.toFixed(2)} ms (median of ${RUNS}; first ${first.toFixed(2)} ms; limit ${most} ms)`,
    );
    if (median > most) process.exitCode = 1;
  }
}
