/** Whole numbers modulo p = 2^64 - 2^32 + 1, and the vectors of them that are proved. */

import { type Bytes, concat } from "../bytes.ts";

export type Elements = BigUint64Array<ArrayBuffer>; // numbers below MODULUS

export const MODULUS = 2n ** 64n - 2n ** 32n + 1n;
export const ELEMENT_BYTES = 8;
const TWO_POWER = 2 ** 32; // the largest order of a root of unity that is a power of two
const GENERATOR = power(7n, (MODULUS - 1n) / BigInt(TWO_POWER)); // of that order

/** Any whole number as a number of the field. */
export function reduced(value: bigint): bigint {
  const rest = value % MODULUS;
  return rest < 0n ? rest + MODULUS : rest;
}

export function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (let left = exponent, square = base; left > 0n; left >>= 1n) {
    if (left & 1n) result = (result * square) % MODULUS;
    square = (square * square) % MODULUS;
  }
  return result;
}

/** The number whose product with this one is 1; 0 has none, and gives 0. */
export function inverse(value: bigint): bigint {
  return power(value, MODULUS - 2n);
}

/** Of an order that is a power of two. */
export function rootOfUnity(order: number): bigint {
  return power(GENERATOR, BigInt(TWO_POWER / order));
}

export function inner(a: Elements, b: Elements): bigint {
  let found = 0n;
  for (let i = 0; i < a.length; i++) if (a[i] && b[i]) found += a[i]! * b[i]!;
  return found % MODULUS;
}

export function total(a: Elements): bigint {
  let found = 0n;
  for (const one of a) found += one;
  return found % MODULUS;
}

export function difference(a: bigint, b: bigint): bigint {
  return a >= b ? a - b : a + MODULUS - b;
}

export function less(a: Elements, b: Elements): Elements {
  const result = new BigUint64Array(a.length);
  for (let i = 0; i < a.length; i++) result[i] = difference(a[i]!, b[i]!);
  return result;
}

export function joined(...parts: readonly Elements[]): Elements {
  const whole = new BigUint64Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** As they travel: 8 little-endian bytes each. */
export function packed(numbers: Elements): Bytes {
  const bytes = new Uint8Array(ELEMENT_BYTES * numbers.length);
  const to = new DataView(bytes.buffer);
  numbers.forEach((value, place) => to.setBigUint64(ELEMENT_BYTES * place, value, true));
  return bytes;
}

/** The first so many numbers that a seed stands for: the words of its key stream that are below the modulus. */
export async function expanded(seed: Uint8Array, count: number): Promise<Elements> {
  const key = await crypto.subtle.importKey("raw", concat(seed), "AES-CTR", false, ["encrypt"]);
  const found = new BigUint64Array(count);
  let taken = 0;
  for (let block = 0; taken < count;) {
    const blocks = Math.ceil((count - taken) / 2) + 1; // of 16 bytes
    const counter = new Uint8Array(16);
    new DataView(counter.buffer).setBigUint64(8, BigInt(block));
    const zeros = new Uint8Array(16 * blocks);
    const stream = await crypto.subtle.encrypt({ name: "AES-CTR", counter, length: 128 }, key, zeros);
    const words = new DataView(stream);
    for (let at = 0; at < stream.byteLength && taken < count; at += ELEMENT_BYTES) {
      const word = words.getBigUint64(at, true);
      if (word < MODULUS) found[taken++] = word;
    }
    block += blocks;
  }
  return found;
}
