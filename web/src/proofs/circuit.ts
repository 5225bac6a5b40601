/** What our circuits have in common: a vector that is shared, and what must hold for it (docs/wire.md). */

import type { Elements } from "./field.ts";
import { inner } from "./field.ts";
import type { Inputs, ProductGadget } from "./gadget.ts";

export interface ProvenVector {
  readonly length: number; // numbers in the vector
  readonly challenges: number; // random numbers that the conditions are multiplied with
  readonly gadget: ProductGadget;
  readonly linked: number; // so many first numbers say whose vector it is, in every exchange that they link
  /** The inputs of all products, of a whole vector (`one` is 1) or of a share of it. */
  inputs(x: Elements, r: Elements, one?: bigint): Inputs;
  /** Of the places of the items that each person shares, ascending. */
  vector(own: readonly (readonly number[])[]): Elements;
  /** What is added up and made public; the rest of a vector is for its proof alone. */
  released(x: Elements): Elements;
}

/** A number from 0 to `most` by its bits: powers of two, the last one smaller. */
export class RangeBits {
  readonly weights: Elements;
  private readonly sum: bigint; // of all weights but the last

  constructor(readonly most: bigint) {
    const powers = Array.from({ length: most.toString(2).length - 1 }, (_, i) => 1n << BigInt(i));
    this.sum = powers.reduce((sum, one) => sum + one, 0n);
    this.weights = BigUint64Array.from([...powers, most - this.sum]);
  }

  get length(): number {
    return this.weights.length;
  }

  of(value: bigint): Elements {
    const over = value > this.sum;
    const rest = over ? value - this.weights.at(-1)! : value;
    const bits = Array.from({ length: this.length - 1 }, (_, i) => (rest >> BigInt(i)) & 1n);
    return BigUint64Array.from([...bits, over ? 1n : 0n]);
  }

  value(bits: Elements): bigint {
    return inner(bits, this.weights);
  }
}
