/**
 * The one gadget of our circuits, a sum of so many products: its prover, and the check a device makes itself.
 * Orders and lengths are those of draft-irtf-cfrg-vdaf; docs/wire.md has them.
 */

import { difference, type Elements, inverse, MODULUS, power, reduced, rootOfUnity } from "./field.ts";

const MOST_CALLS = 2 ** 12 - 1; // so that a false proof passes with a probability below 2^-50

/** The inputs of all products, and what is added to their sum. */
export interface Inputs {
  a: Elements;
  b: Elements;
  linear: bigint;
}

export class ProductGadget {
  private constructor(
    readonly products: number,
    readonly chunk: number, // products of one call
  ) {}

  /** With the shortest proof; of equal ones that of fewer calls. */
  static of(products: number): ProductGadget {
    let best: ProductGadget | null = null;
    for (let length = 2; length <= MOST_CALLS + 1; length *= 2) {
      const one = new ProductGadget(products, Math.ceil(products / (length - 1)));
      const shorter = !best || one.proofLength < best.proofLength;
      if (shorter || (one.proofLength === best!.proofLength && one.calls < best!.calls)) best = one;
    }
    return best!;
  }

  get calls(): number {
    return Math.ceil(this.products / this.chunk);
  }

  /** Values of a wire polynomial: a random one, one for each call, zeros to a power of two. */
  get wireLength(): number {
    return 2 ** this.calls.toString(2).length;
  }

  /** Random numbers that a prover needs: one for each wire. */
  get blinds(): number {
    return 2 * this.chunk;
  }

  get proofLength(): number {
    return this.blinds + 2 * this.wireLength - 1;
  }

  get verifierLength(): number {
    return this.blinds + 2;
  }

  /** Whether a point of the test is a root of unity, where a wire would show what it carries. */
  forbids(point: bigint): boolean {
    return power(point, BigInt(2 * this.wireLength)) === 1n;
  }

  prove(a: Elements, b: Elements, blinds: Elements): Elements {
    const length = this.wireLength;
    const polynomial = new BigUint64Array(2 * length - 1);
    const add = (at: number, value: bigint) => (polynomial[at] = (polynomial[at]! + value) % MODULUS);
    for (let j = 0; j < this.chunk; j++) {
      const left = this.wire(a, blinds[2 * j]!, j);
      const right = this.wire(b, blinds[2 * j + 1]!, j);
      left.forEach((value, k) => add(2 * k, value * right[k]!));
      const [evens, odds] = [between(left), between(right)];
      for (let k = 0; k < length - 1; k++) add(2 * k + 1, evens[k]! * odds[k]!);
    }
    const proof = new BigUint64Array(this.proofLength);
    proof.set(blinds);
    proof.set(polynomial, this.blinds);
    return proof;
  }

  /** One verifier's share of the check, from its shares of the inputs and of the proof. */
  query({ a, b, linear }: Inputs, proof: Elements, point: bigint): Elements {
    if (this.forbids(point)) throw new RangeError("the point of a test must be no root of unity");
    const { chunk, calls, wireLength: length } = this;
    const polynomial = proof.subarray(this.blinds);
    const verifier = new BigUint64Array(this.verifierLength);
    const add = (at: number, value: bigint) => (verifier[at] = (verifier[at]! + value) % MODULUS);
    add(0, reduced(linear));
    for (let call = 1; call <= calls; call++) add(0, polynomial[2 * call]!);
    const wires = weights(length, point);
    for (let j = 0; j < this.blinds; j++) add(1 + j, wires[0]! * proof[j]!);
    a.forEach((value, k) => {
      const weight = wires[1 + Math.floor(k / chunk)]!;
      add(1 + 2 * (k % chunk), weight * value);
      add(2 + 2 * (k % chunk), weight * b[k]!);
    });
    // the value at the last root is not sent: a polynomial of this degree has the sum of value * root = 0
    const [whole, root] = [weights(2 * length, point), rootOfUnity(2 * length)];
    let [last, turned] = [0n, 1n];
    polynomial.forEach((value, k) => {
      add(2 * chunk + 1, whole[k]! * value);
      last = (last + value * turned) % MODULUS;
      turned = (turned * root) % MODULUS;
    });
    add(2 * chunk + 1, whole[2 * length - 1]! * ((difference(0n, root) * last) % MODULUS));
    return verifier;
  }

  /** Whether the sum of all verifiers' shares shows a valid vector. */
  accepts(verifier: Elements): boolean {
    let found = 0n;
    for (let j = 1; j < verifier.length - 1; j += 2) found += verifier[j]! * verifier[j + 1]!;
    return verifier[0] === 0n && found % MODULUS === verifier.at(-1);
  }

  /** The values of one wire polynomial: its input in every call after the random one. */
  private wire(inputs: Elements, blind: bigint, first: number): Elements {
    const values = new BigUint64Array(this.wireLength);
    values[0] = blind;
    for (let call = 0, at = first; call < this.wireLength - 1 && at < inputs.length; call++, at += this.chunk) {
      values[1 + call] = inputs[at]!;
    }
    return values;
  }
}

/** In place: from coefficients to values at all powers of a root of unity of their number. */
function transform(values: Elements, root: bigint): void {
  const n = values.length;
  for (let i = 1, at = 0; i < n; i++) {
    let bit = n >> 1;
    for (; at & bit; bit >>= 1) at ^= bit;
    at |= bit;
    if (i < at) [values[i], values[at]] = [values[at]!, values[i]!];
  }
  for (let size = 2; size <= n; size *= 2) {
    const step = power(root, BigInt(n / size));
    for (let first = 0; first < n; first += size) {
      let turned = 1n;
      for (let i = first; i < first + size / 2; i++) {
        const even = values[i]!;
        const odd = (values[i + size / 2]! * turned) % MODULUS;
        values[i] = (even + odd) % MODULUS;
        values[i + size / 2] = difference(even, odd);
        turned = (turned * step) % MODULUS;
      }
    }
  }
}

/** From values at the roots of unity of their number, those at the odd ones of twice as many. */
function between(values: Elements): Elements {
  const n = values.length;
  const found = values.slice();
  transform(found, inverse(rootOfUnity(n)));
  const step = rootOfUnity(2 * n);
  let turned = inverse(BigInt(n));
  found.forEach((value, i) => {
    found[i] = (value * turned) % MODULUS;
    turned = (turned * step) % MODULUS;
  });
  transform(found, rootOfUnity(n));
  return found;
}

/** What the values at roots of unity count in the value at a point that is none of them. */
function weights(length: number, point: bigint): Elements {
  const root = rootOfUnity(length);
  const whole = (difference(power(point, BigInt(length)), 1n) * inverse(BigInt(length))) % MODULUS;
  let turned = 1n;
  return BigUint64Array.from({ length }, () => {
    const weight = (((turned * whole) % MODULUS) * inverse(difference(point, turned))) % MODULUS;
    turned = (turned * root) % MODULUS;
    return weight;
  });
}
