/**
 * Where the counters of pairs stand in words of the field: k counters to a word, to the base B.
 *
 * Items are ranked by an upper bound of their counters, ascending. Rows whose words hold equally many counters are a
 * class; its base is its largest bound plus 1. From the first row of its class on, items stand in groups of k. The
 * row of a rank in group g has a word for each group from g on; the counter of the pair (i, j) is digit
 * (j - first) mod k of its word. In its own group a row has the digits of ranks above i alone, with `diagonal` of i
 * too.
 */

import { type Elements, inner, MODULUS } from "./field.ts";

/** One class of rows. */
interface RowClass {
  first: number;
  end: number;
  size: number; // counters in a word
  powers: bigint[]; // of its base
  group: number; // its first group among those of all classes
}

/** The largest k with base^k at most p. */
function countersInAWord(base: bigint): number {
  let k = 0;
  for (let power = base; power <= MODULUS; power *= base) k++;
  return k;
}

export class PairWords {
  readonly words: number;
  readonly groups: number;
  private readonly classes: RowClass[] = [];
  private readonly start: number[] = []; // by rank, the first word of its row

  constructor(
    readonly bounds: readonly number[],
    readonly diagonal = false,
  ) {
    const n = bounds.length;
    const sizes = bounds.map((bound) => countersInAWord(BigInt(bound) + 1n));
    let [words, groups] = [0, 0];
    for (let first = 0, end = 0; first < n; first = end) {
      while (end < n && sizes[end] === sizes[first]) end++;
      const size = sizes[first]!;
      const base = BigInt(bounds[end - 1]!) + 1n;
      const powers = Array.from({ length: size }, (_, digit) => base ** BigInt(digit));
      const count = Math.ceil((n - first) / size);
      for (let i = first; i < end; i++) {
        this.start.push(words);
        words += count - Math.floor((i - first) / size);
      }
      this.classes.push({ first, end, size, powers, group: groups });
      groups += count;
    }
    [this.words, this.groups] = [words, groups];
  }

  get ranks(): number {
    return this.bounds.length;
  }

  /** Where the words of these rows begin, and end. */
  wordsOf([first, end]: readonly [number, number]): [number, number] {
    return [this.startOf(first), this.startOf(end)];
  }

  /** The rows whose words are one of so many parts, of about as many words each. */
  rowsOf(part: number, parts: number): [number, number] {
    const at = (number: number) => {
      const cut = Math.floor((this.words * number) / parts);
      const found = this.start.findIndex((start) => start >= cut);
      return found < 0 ? this.ranks : found;
    };
    return [at(part), part === parts - 1 ? this.ranks : at(part + 1)];
  }

  /** Add a person's pairs to words: her ranks ascend, and each pair counts `weight`. */
  addInto(words: Elements, own: readonly number[], weight = 1n): void {
    own.forEach((i, at) => {
      const { first, size, powers } = this.classOf(i);
      const row = this.start[i]! - Math.floor((i - first) / size);
      for (let other = this.diagonal ? at : at + 1; other < own.length; other++) {
        const place = own[other]! - first;
        const word = row + Math.floor(place / size);
        words[word] = words[word]! + weight * powers[place % size]!;
      }
    });
  }

  /** By rank, the sum of t_g y_ig: what its row is in a proof if its own bit is 1. */
  rowSums(x: Elements, t: Elements): Elements {
    const n = this.ranks;
    const sums = new BigUint64Array(n);
    for (const { first, end, size, powers, group } of this.classes) {
      let after = 0n;
      for (let g = Math.ceil((n - first) / size) - 1; g >= 0; g--) {
        const factor = t[group + g]!;
        let part = 0n;
        for (let i = Math.min(first + (g + 1) * size, n) - 1; i >= first + g * size; i--) {
          const above = part;
          part = (part + powers[i - first - g * size]! * x[i]!) % MODULUS;
          if (i < end) sums[i] = (after + factor * (this.diagonal ? part : above)) % MODULUS;
        }
        after = (after + factor * part) % MODULUS;
      }
    }
    return sums;
  }

  /** What words are in a proof: the sum of r_i t_g w_ig. */
  wordSum(words: Elements, r: Elements, t: Elements): bigint {
    let found = 0n;
    for (const { first, end, size, group } of this.classes) {
      for (let i = first; i < end; i++) {
        const own = group + Math.floor((i - first) / size);
        const row = words.subarray(this.start[i]!, this.startOf(i + 1));
        found += r[i]! * inner(row, t.subarray(own, own + row.length));
      }
    }
    return found % MODULUS;
  }

  private startOf(rank: number): number {
    return this.start[rank] ?? this.words;
  }

  private classOf(rank: number): RowClass {
    return this.classes.find(({ end }) => rank < end)!;
  }
}
