/** Noisy sums: one whole-number weight for each person, and what is sent is that weight times her bits. */

import { type ProvenVector, RangeBits } from "./circuit.ts";
import { difference, type Elements, inner, joined, MODULUS, reduced, total } from "./field.ts";
import { type Inputs, ProductGadget } from "./gadget.ts";
import { summedVectors } from "./counted_items.ts";
import type { PairWords } from "./pair_words.ts";

/** The whole part of a square root. */
function rootOf(value: bigint): bigint {
  let root = BigInt(Math.floor(Math.sqrt(Number(value))));
  while (root * root > value) root--;
  while ((root + 1n) * (root + 1n) <= value) root++;
  return root;
}

function sharing(own: readonly (readonly number[])[]): number {
  return own.filter((one) => one.length).length;
}

/** Items that each person shares, each of her weight; together at most `largest` long. */
export class WeightedCounts implements ProvenVector {
  readonly linked = 0;
  readonly gadget: ProductGadget;
  readonly length: number; // v, then the weights by their bits, then the slack
  private readonly weight: RangeBits;
  private readonly slack: RangeBits;
  private readonly numbers: number; // in v
  private readonly bits: number; // where the slack begins

  constructor(
    readonly items: number,
    readonly people: number,
    readonly largest: number,
  ) {
    this.weight = new RangeBits(BigInt(largest));
    this.slack = new RangeBits(BigInt(largest) ** 2n / BigInt(people));
    this.numbers = people * items;
    this.bits = this.numbers + people * this.weight.length;
    this.length = this.bits + this.slack.length;
    this.gadget = ProductGadget.of(this.length + people);
  }

  get challenges(): number {
    return this.length + 1;
  }

  /** The largest weight of a person with n items on a device of so many people who share anything. */
  weightOf(n: number, sharing: number): bigint {
    if (!n) return 0n;
    const most = rootOf(BigInt(this.largest) ** 2n / BigInt(this.people * sharing * n));
    return most < BigInt(this.largest) ? most : BigInt(this.largest);
  }

  vector(own: readonly (readonly number[])[]): Elements {
    const x = new BigUint64Array(this.length);
    let left = this.slack.most;
    for (let person = 0; person < this.people; person++) {
      const places = own[person] ?? [];
      const q = this.weightOf(places.length, sharing(own));
      for (const place of places) x[person * this.items + place] = q;
      x.set(this.weight.of(q), this.numbers + person * this.weight.length);
      left -= q * q * BigInt(places.length);
    }
    x.set(this.slack.of(left), this.bits);
    return x;
  }

  released(x: Elements): Elements {
    return summedVectors(x.subarray(0, this.numbers), this.items);
  }

  inputs(x: Elements, r: Elements, one = 1n): Inputs {
    const u = r[this.length]!;
    const weights: bigint[] = [];
    const sums: bigint[] = [];
    for (let person = 0; person < this.people; person++) {
      const bits = this.numbers + person * this.weight.length;
      weights.push(this.weight.value(x.subarray(bits, bits + this.weight.length)));
      sums.push((total(x.subarray(person * this.items, (person + 1) * this.items)) * u) % MODULUS);
    }
    const b = new BigUint64Array(this.length);
    for (let i = 0; i < b.length; i++) {
      const right = i < this.numbers ? weights[Math.floor(i / this.items)]! : one;
      b[i] = (r[i]! * difference(x[i]!, right)) % MODULUS;
    }
    const linear = u * (this.slack.value(x.subarray(this.bits)) - this.slack.most * one);
    return {
      a: joined(x, BigUint64Array.from(weights)),
      b: joined(b, BigUint64Array.from(sums)),
      linear: reduced(linear),
    };
  }
}

/** Pairs of items that each person shares, each of her weight; together at most `largest` long. */
export class WeightedPairs implements ProvenVector {
  readonly linked = 0;
  readonly gadget: ProductGadget;
  readonly length: number; // x, z, the weights by their bits, the slack, the words
  private readonly weight: RangeBits;
  private readonly slack: RangeBits;
  private readonly numbers: number; // in x
  private readonly ends: { z: number; q: number; slack: number };

  constructor(
    readonly people: number,
    readonly largest: number,
    readonly heaviest: number, // no weight is above it, also of a person with few items
    readonly words: PairWords,
  ) {
    this.weight = new RangeBits(BigInt(heaviest));
    this.slack = new RangeBits(BigInt(largest));
    this.numbers = people * words.ranks;
    const q = 2 * this.numbers + people * this.weight.length;
    this.ends = { z: 2 * this.numbers, q, slack: q + this.slack.length };
    this.length = this.ends.slack + words.words;
    this.gadget = ProductGadget.of(this.ends.slack - this.numbers + people);
  }

  get challenges(): number {
    return this.ends.slack + 1 + this.words.ranks + this.words.groups;
  }

  weightOf(n: number, sharing: number): bigint {
    return n ? BigInt(Math.min(this.heaviest, Math.floor(this.largest / (sharing * n)))) : 0n;
  }

  /** Of the ranks of the items that each person shares, ascending. */
  vector(own: readonly (readonly number[])[]): Elements {
    const x = new BigUint64Array(this.length);
    const words = new BigUint64Array(this.words.words);
    let left = this.slack.most;
    for (let person = 0; person < this.people; person++) {
      const ranks = own[person] ?? [];
      const q = this.weightOf(ranks.length, sharing(own));
      for (const rank of ranks) {
        x[person * this.words.ranks + rank] = 1n;
        x[this.numbers + person * this.words.ranks + rank] = q;
      }
      x.set(this.weight.of(q), this.ends.z + person * this.weight.length);
      this.words.addInto(words, ranks, q);
      left -= q * BigInt(ranks.length);
    }
    x.set(this.slack.of(left), this.ends.q);
    x.set(words, this.ends.slack);
    return x;
  }

  released(x: Elements): Elements {
    return x.slice(this.ends.slack);
  }

  inputs(x: Elements, r: Elements, one = 1n): Inputs {
    const { words, numbers, ends } = this;
    const n = words.ranks;
    const [bits, z] = [x.subarray(0, numbers), x.subarray(numbers, ends.z)];
    const rest = x.subarray(ends.z, ends.slack); // the bits of weights and slack
    const e = r.subarray(numbers, ends.z);
    const [u, row] = [r[ends.slack]!, r.subarray(ends.slack + 1, ends.slack + 1 + n)];
    const t = r.subarray(ends.slack + 1 + n);
    const weights: bigint[] = [];
    const chosen: bigint[] = []; // the sum of e x of each person: times her weight it is that of e z
    const a = joined(bits, rest);
    const s = joined(r.subarray(0, numbers), r.subarray(ends.z, ends.slack));
    const b = a.map((value, i) => (s[i]! * difference(value, one)) % MODULUS);
    for (let person = 0; person < this.people; person++) {
      const start = person * n;
      const sums = words.rowSums(z.slice(start, start + n), t);
      for (let i = 0; i < n; i++) b[start + i] = (b[start + i]! + row[i]! * sums[i]!) % MODULUS;
      chosen.push(inner(e.subarray(start, start + n), bits.subarray(start, start + n)));
      const at = person * this.weight.length;
      weights.push(this.weight.value(rest.subarray(at, at + this.weight.length)));
    }
    const slack = this.slack.value(x.subarray(ends.q, ends.slack));
    const within = u * (total(z) + slack - BigInt(this.largest) * one);
    const linear = within - inner(e, z) - words.wordSum(x.subarray(ends.slack), row, t);
    return {
      a: joined(a, BigUint64Array.from(weights)),
      b: joined(b, BigUint64Array.from(chosen)),
      linear: reduced(linear),
    };
  }
}
