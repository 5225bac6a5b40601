/** Exact pairs: bits as in the counts before, and the words of all pairs of ones. */

import type { ProvenVector } from "./circuit.ts";
import type { CountedItems } from "./counted_items.ts";
import { type Elements, joined, MODULUS, reduced } from "./field.ts";
import type { Inputs, ProductGadget } from "./gadget.ts";
import type { PairWords } from "./pair_words.ts";

export class PairedItems implements ProvenVector {
  constructor(
    readonly counted: CountedItems,
    readonly ranked: readonly number[], // the place of each rank among the items
    readonly words: PairWords,
  ) {}

  get gadget(): ProductGadget {
    return this.counted.gadget;
  }

  get length(): number {
    return this.counted.length + this.words.words;
  }

  get challenges(): number {
    return this.counted.challenges + this.words.ranks + this.words.groups;
  }

  vector(own: readonly (readonly number[])[]): Elements {
    const rank = new Map(this.ranked.map((place, at) => [place, at]));
    const words = new BigUint64Array(this.words.words);
    for (const places of own) {
      const mine = places.flatMap((place) => rank.get(place) ?? []);
      this.words.addInto(
        words,
        mine.sort((a, b) => a - b),
      );
    }
    return joined(this.counted.vector(own), words);
  }

  inputs(x: Elements, r: Elements, one = 1n): Inputs {
    const { counted, words, ranked } = this;
    const bits = counted.inputs(x.subarray(0, counted.length), r.subarray(0, counted.challenges), one);
    const row = r.subarray(counted.challenges, counted.challenges + words.ranks);
    const t = r.subarray(counted.challenges + words.ranks);
    for (let person = 0; person < counted.people; person++) {
      const start = person * counted.items;
      const sums = words.rowSums(
        BigUint64Array.from(ranked, (place) => x[start + place]!),
        t,
      );
      ranked.forEach((place, i) => {
        bits.b[start + place] = (bits.b[start + place]! + row[i]! * sums[i]!) % MODULUS;
      });
    }
    const found = words.wordSum(x.subarray(counted.length), row, t);
    return { ...bits, linear: reduced(bits.linear - found) };
  }
}
