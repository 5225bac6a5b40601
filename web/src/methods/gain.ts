/** How much a feature tells about what a person chooses: equations 6.4 to 6.9 of A. Ferrara's thesis. */

import type { FederationInfo } from "../channel/layout.ts";
import type { Stream } from "../numerics/philox.ts";

export const LEAST = 1e-9; // below it a gain is the rounding of zero
export type Measure = "information-gain" | "gain-ratio" | "gini";

/** The gain of a feature that p of `half` positives and n of as many negatives have. */
export function gain(measure: Measure, p: number, n: number, half: number): number {
  const size = 2 * half;
  const t = p + n;
  if (measure === "gini") {
    const absent = ((half - p) * (half - n)) / Math.max(size - t, 1);
    return 1 - (2 * (2 * ((p * n) / Math.max(t, 1) + absent))) / size;
  }
  const present = bits(t) - bits(p) - bits(n);
  const absent = bits(size - t) - bits(half - p) - bits(half - n);
  const found = 1 - (present + absent) / size; // eq. (6.7)
  if (measure === "information-gain") return found;
  const about = (bits(size) - bits(t) - bits(size - t)) / size; // the entropy of having the feature
  return about > LEAST ? found / Math.max(about, LEAST) : 0;
}

/** x log2 x: entropies of counts are sums of these. */
function bits(x: number): number {
  return x * Math.log2(Math.max(x, 1));
}

/** n items on offer that are not own, with replacement: each alike, or as often as each is publicly known. */
export function drawNegatives(
  info: FederationInfo,
  own: ArrayLike<number>,
  n: number,
  popular: boolean,
  stream: Stream,
): number[] {
  const mine = new Set(Array.from(own));
  const { counts, listed } = info;
  if (!mine.size || listed.every((item) => mine.has(item))) return [];
  let end = 0;
  const edges = listed.map((item) => (end += popular && counts ? Math.max(counts[item]!, 1) : 1));
  return Array.from({ length: n }, () => {
    let item: number;
    do item = listed[after(edges, stream.below(end))]!;
    while (mine.has(item));
    return item;
  });
}

/** The first place whose edge is above a number. */
function after(edges: readonly number[], drawn: number): number {
  let low = 0;
  let high = edges.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (edges[middle]! > drawn) high = middle;
    else low = middle + 1;
  }
  return low;
}
