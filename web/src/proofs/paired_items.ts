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
    readonly rows: readonly [first: number, end: number] | null = null, // ranks whose words are sent; null: all
  ) {}

  get linked(): number {
    return this.counted.linked;
  }

  get gadget(): ProductGadget {
    return this.counted.gadget;
  }

  get length(): number {
    const [first, end] = this.sent;
    return this.counted.length + end - first;
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
    return joined(this.counted.vector(own), words.subarray(...this.sent));
  }

  /** The words; bits that were added up here would be a second sum of counts. */
  released(x: Elements): Elements {
    return x.slice(this.counted.length);
  }

  inputs(x: Elements, r: Elements, one = 1n): Inputs {
    const { counted, words, ranked } = this;
    const bits = counted.inputs(x.subarray(0, counted.length), r.subarray(0, counted.challenges), one);
    const row = this.ofSentRows(r.slice(counted.challenges, counted.challenges + words.ranks));
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
    const found = words.wordSum(this.allWords(x.subarray(counted.length)), row, t);
    return { ...bits, linear: reduced(bits.linear - found) };
  }

  /** The first word that is sent, and that after the last. */
  private get sent(): [number, number] {
    return this.rows === null ? [0, this.words.words] : this.words.wordsOf(this.rows);
  }

  /** With 0 for rows whose words are not sent: nothing is said of them. */
  private ofSentRows(row: Elements): Elements {
    const [first, end] = this.rows ?? [0, row.length];
    return row.fill(0n, 0, first).fill(0n, end);
  }

  private allWords(sent: Elements): Elements {
    if (this.rows === null) return sent;
    const words = new BigUint64Array(this.words.words);
    words.set(sent, this.sent[0]);
    return words;
  }
}
