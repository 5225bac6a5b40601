/** Whole numbers modulo 2**24 or 2**32, in which sums have no order and shares hide all. */

import type { Bytes } from "../bytes.ts";

export class Ring {
  constructor(
    readonly bits: 24 | 32,
    readonly words: number,
  ) {}

  /** The bytes of one vector as it travels. */
  get messageBytes(): number {
    return (this.words * this.bits) / 8;
  }

  /** Whole numbers, negative ones too, modulo 2**bits. */
  wrap(value: number): number {
    const whole = 2 ** this.bits;
    return ((value % whole) + whole) % whole;
  }

  pack(vector: Uint32Array): Bytes {
    const each = this.bits / 8;
    const bytes = new Uint8Array(this.messageBytes);
    for (let n = 0; n < this.words; n++) {
      for (let k = 0; k < each; k++) bytes[n * each + k] = vector[n]! >>> (8 * k);
    }
    return bytes;
  }

  unpack(bytes: Uint8Array): Uint32Array {
    if (bytes.length !== this.messageBytes) throw new RangeError("a packed vector of another length");
    const each = this.bits / 8;
    const vector = new Uint32Array(this.words);
    for (let n = 0; n < this.words; n++) {
      let word = 0;
      for (let k = 0; k < each; k++) word |= bytes[n * each + k]! << (8 * k);
      vector[n] = word;
    }
    return vector;
  }

  /** One vector less another. */
  less(one: Uint32Array, other: Uint32Array): Uint32Array {
    return one.map((word, n) => this.wrap(word - other[n]!));
  }

  sum(one: Uint32Array, other: Uint32Array): Uint32Array {
    return one.map((word, n) => this.wrap(word + other[n]!));
  }
}
