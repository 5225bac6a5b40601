/** One person's scores by weights between items: her newest items count most, and nothing of it leaves. */

import type { Tables } from "../message/codec.ts";
import { type PairSettings, weighed } from "./cooccurrence.ts";

type Weigh = (source: number, into: Float64Array, z: number) => void; // places among the items that take part

/** The scores of all items for someone with these items; without times all are alike. */
export function pairScores(
  s: PairSettings,
  model: Tables,
  own: readonly number[],
  time: readonly number[] | null,
): Float32Array {
  const counts = model.counts as Uint32Array;
  const items = weighed(s, counts);
  const parts = weights(s, model, items.length);
  const places = new Map(items.map((item, place) => [item, place]));
  const known = parts.length ? own.flatMap((item, row) => (places.has(item) ? [row] : [])) : [];
  if (!known.length) return Float32Array.from(counts);
  const z = recency(time ?? own.map(() => 0), s.recency);
  const found = parts.map(({ share, weigh }) => {
    const scores = new Float64Array(items.length);
    for (const row of known) weigh(places.get(own[row]!)!, scores, Math.fround(z[row]!));
    return { share, scores: Float32Array.from(scores) };
  });
  return scoresOfPart(items, counts, found, s.discount);
}

/** The scores of all items from those of the items that take part, of several kinds, each by its share. */
export function scoresOfPart(
  items: readonly number[],
  counts: Uint32Array,
  found: readonly { share: number; scores: Float32Array }[],
  discount: number,
): Float32Array {
  // one kind without a discount ranks as it is: a change of scale could only make ties
  const mixed = found.length === 1 && !discount ? found[0]!.scores : blended(found);
  if (discount) items.forEach((item, n) => (mixed[n] = mixed[n]! - discount * Math.log(counts[item]! + 1)));
  return withOthers(mixed, items, counts);
}

/** How much each of the own items adds to the score of one. */
export function weightsTo(s: PairSettings, model: Tables, item: number, own: readonly number[]): Float64Array | null {
  const items = weighed(s, model.counts as Uint32Array);
  const parts = weights(s, model, items.length);
  const target = items.indexOf(item);
  if (target < 0 || parts.length !== 1) return null; // of a blend no single weight is the truth
  const places = new Map(items.map((one, place) => [one, place]));
  const scores = new Float64Array(items.length);
  return Float64Array.from(own, (one) => {
    const place = places.get(one);
    if (place === undefined) return 0;
    scores.fill(0);
    parts[0]!.weigh(place, scores, 1);
    return scores[target]!;
  });
}

function weights(s: PairSettings, model: Tables, n: number): { share: number; weigh: Weigh }[] {
  const parts: { share: number; weigh: Weigh }[] = [];
  const { ease, neighbours, similarity } = model;
  if (ease) {
    const weigh: Weigh = (source, into, z) => {
      for (let target = 0; target < n; target++) into[target]! += z * ease[source * n + target]!;
    };
    parts.push({ share: s.ease, weigh });
  }
  if (neighbours && similarity) parts.push({ share: s.knn, weigh: nearest(neighbours, similarity, n) });
  return parts;
}

/** Row t of the tables has the items nearest to t: they are what speaks for t. */
function nearest(neighbours: ArrayLike<number>, similarity: ArrayLike<number>, n: number): Weigh {
  const k = neighbours.length / n;
  const sources: [number, number][][] = Array.from({ length: n }, () => []);
  for (let target = 0; target < n; target++) {
    for (let at = target * k; at < (target + 1) * k; at++) {
      if (similarity[at]! > 0) sources[neighbours[at]!]!.push([target, similarity[at]!]);
    }
  }
  return (source, into, z) => {
    for (const [target, weight] of sources[source]!) into[target]! += z * weight;
  };
}

/** Each kind standardised, then added up by its share. */
function blended(found: readonly { share: number; scores: Float32Array }[]): Float32Array {
  const total = new Float32Array(found[0]!.scores.length);
  for (const { share, scores } of found) {
    const mean = scores.reduce((a, b) => a + b, 0) / scores.length;
    const spread = Math.sqrt(scores.reduce((a, b) => a + (b - mean) ** 2, 0) / scores.length) || 1;
    scores.forEach((score, n) => (total[n] = total[n]! + (share * (score - mean)) / spread));
  }
  return total;
}

/** Items that take no part come after all others, the more frequent first. */
function withOthers(scores: Float32Array, items: readonly number[], counts: ArrayLike<number>): Float32Array {
  const least = scores.reduce((a, b) => Math.min(a, b), Infinity);
  const every = Float32Array.from(counts, (count) => least - 1 / (1 + count));
  items.forEach((item, n) => (every[item] = scores[n]!));
  return every;
}

/** (1 + gap)^-power of every row; gap: how many rows are newer, rows of one time the average of theirs. */
export function recency(time: readonly number[], power: number): number[] {
  if (!power) return time.map(() => 1);
  return time.map((when) => {
    let newer = 0;
    let same = 0;
    for (const other of time) {
      newer += Number(other > when);
      same += Number(other === when);
    }
    return (1 + newer + (same - 1) / 2) ** -power;
  });
}
