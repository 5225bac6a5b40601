/**
 * Which items take part in pairs, by rank: ascending by how often each occurs, ties by number. Everybody works out
 * the same places of all counters from the public counts alone (proofs/pair_words.ts).
 */

import { PairWords } from "../proofs/pair_words.ts";

export class RankedItems {
  readonly items: readonly number[]; // by rank
  readonly bounds: readonly number[]; // how often each occurs: no pair occurs more often than its rarer item
  readonly pairs: PairWords;

  constructor(counts: readonly number[], least: number) {
    const there = counts.flatMap((count, item) => (count >= Math.max(1, least) ? [item] : []));
    this.items = there.sort((a, b) => counts[a]! - counts[b]! || a - b);
    this.bounds = this.items.map((item) => counts[item]!);
    this.pairs = new PairWords(this.bounds);
  }
}
