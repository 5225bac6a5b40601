/** Exact counts: for each person of a device a vector of bits, at most `cap` of them ones. */

import { type ProvenVector, RangeBits } from "./circuit.ts";
import { difference, type Elements, MODULUS, reduced, total } from "./field.ts";
import { type Inputs, ProductGadget } from "./gadget.ts";

export class CountedItems implements ProvenVector {
  readonly gadget: ProductGadget;
  readonly length: number; // x, then the bits by which each person stays below the cap
  readonly numbers: number; // in x
  private readonly slack: RangeBits;

  constructor(
    readonly items: number,
    readonly people: number,
    readonly cap: number,
  ) {
    this.slack = new RangeBits(BigInt(cap));
    this.numbers = people * items;
    this.length = this.numbers + people * this.slack.length;
    this.gadget = ProductGadget.of(this.length);
  }

  get challenges(): number {
    return this.length + this.people;
  }

  get linked(): number {
    return this.numbers;
  }

  vector(own: readonly (readonly number[])[]): Elements {
    const x = new BigUint64Array(this.length);
    for (let person = 0; person < this.people; person++) {
      const places = own[person] ?? [];
      if (places.length > this.cap) throw new RangeError("nobody may share more than the cap");
      for (const place of places) x[person * this.items + place] = 1n;
      x.set(this.slack.of(BigInt(this.cap - places.length)), this.numbers + person * this.slack.length);
    }
    return x;
  }

  /** How many people share each item. */
  released(x: Elements): Elements {
    return summedVectors(x.subarray(0, this.numbers), this.items);
  }

  inputs(x: Elements, r: Elements, one = 1n): Inputs {
    const b = new BigUint64Array(this.length);
    for (let i = 0; i < b.length; i++) b[i] = (r[i]! * difference(x[i]!, one)) % MODULUS;
    let linear = 0n;
    for (let person = 0; person < this.people; person++) {
      const own = x.subarray(person * this.items, (person + 1) * this.items);
      const slack = this.numbers + person * this.slack.length;
      const whole = total(own) + this.slack.value(x.subarray(slack, slack + this.slack.length));
      linear += r[this.length + person]! * (whole - BigInt(this.cap) * one);
    }
    return { a: x, b, linear: reduced(linear) };
  }
}

/** The sum of the vectors of all people. */
export function summedVectors(vectors: Elements, length: number): Elements {
  const sums = vectors.slice(0, length);
  for (let place = length; place < vectors.length; place++) sums[place % length]! += vectors[place]!;
  return sums;
}
