/**
 * Why an item is shown: the terms its score is the sum of, or the nearest of the own likes. "Because" is said only of
 * what passes a test by removal: without it the item would not be in the list.
 */

import type { ScoreTerms } from "../methods/method.ts";
import { topK } from "../numerics/ranking.ts";
import type { Reason } from "./types.ts";

const NEAREST = 3;

/**
 * All terms of an item, the most informative feature first; `offered` is what the list of k is of, `disclosed` the
 * features of likes that were ever sent.
 */
export function termReasons(
  terms: ScoreTerms,
  item: number,
  offered: readonly number[],
  k: number,
  disclosed: ReadonlySet<number>,
): Reason[] {
  const own = [...terms.items[item]!].sort(([a], [b]) => terms.gains[b]! - terms.gains[a]! || a - b);
  return own.map(([place, weight]) => ({
    kind: "term",
    item: null,
    label: terms.names[place]!,
    weight,
    gain: terms.gains[place]!,
    because: weight > 0 && drops(terms, item, place, offered, k),
    local: !disclosed.has(terms.feature[place]!),
  }));
}

/** Whether an item leaves the first k of what is on offer when a term is taken from every score. */
function drops(terms: ScoreTerms, item: number, place: number, offered: readonly number[], k: number): boolean {
  const left = (one: number) => terms.scores[one]! - (terms.items[one]!.find(([at]) => at === place)?.[1] ?? 0);
  const own = left(item);
  let before = 0;
  for (const other of offered) {
    const score = left(other);
    if (score > own || (score === own && other < item)) before++;
  }
  return before >= k;
}

/** The own likes closest to an item; none where nothing true can be said. */
export function nearestLikes(alike: Float64Array | null, likes: Int32Array, disclosed: ReadonlySet<number>): Reason[] {
  if (!alike) return [];
  const nearest = topK(alike, [...likes.keys()], NEAREST, (place) => alike[place]! > 0);
  return nearest.map((place) => ({
    kind: "similar",
    item: likes[place]!,
    label: "",
    weight: alike[place]!,
    gain: 0,
    because: false,
    local: !disclosed.has(likes[place]!),
  }));
}
