/** Named arrays as one message, and two messages as one (docs/wire.md, "arrays" and "pair"). */

import { concat, text, u32, view, type Bytes } from "../bytes.ts";
import { malformed, RefusedError } from "../refusals.ts";

export type Numbers =
  Float32Array | Float64Array | Uint32Array | Int32Array | BigInt64Array | BigUint64Array | Uint8Array | Uint16Array;

export interface NamedArray {
  type: string;
  shape: number[];
  values: Numbers;
}

export const PROTOCOL = 3;
const MOST_DIMENSIONS = 32;
const MOST_VALUES = 2 ** 48;
const HEADER = 8;
const KINDS: Record<string, { bytes: number; read: (content: ArrayBuffer) => Numbers }> = {
  "<f2": { bytes: 2, read: (content) => new Uint16Array(content) }, // as bits
  "<f4": { bytes: 4, read: (content) => new Float32Array(content) },
  "<f8": { bytes: 8, read: (content) => new Float64Array(content) },
  "<u4": { bytes: 4, read: (content) => new Uint32Array(content) },
  "<i4": { bytes: 4, read: (content) => new Int32Array(content) },
  "<i8": { bytes: 8, read: (content) => new BigInt64Array(content) },
  "<u8": { bytes: 8, read: (content) => new BigUint64Array(content) },
  "|u1": { bytes: 1, read: (content) => new Uint8Array(content) },
  "|b1": { bytes: 1, read: (content) => new Uint8Array(content) },
};

/** The arrays; every length is checked before anything is made. */
export function unpackArrays(content: Uint8Array): Record<string, NamedArray> {
  if (content.length < HEADER) throw malformed("a message of arrays must have a header, but has none.");
  if (text(content.subarray(0, 2)) !== "ma") throw malformed("a message of arrays must begin with 'ma'.");
  checkVersion(content[2]);
  let at = HEADER + view(content).getUint32(4, true);
  const index = readIndex(content.subarray(HEADER, at));
  const sizes = index.map(([, type, shape]) => product(shape) * KINDS[type]!.bytes);
  const needed = sizes.reduce((sum, size) => sum + size, at);
  if (content.length !== needed) {
    throw malformed(`a message of arrays must be ${needed} bytes long, but has ${content.length}.`);
  }
  const arrays: Record<string, NamedArray> = {};
  index.forEach(([name, type, shape], n) => {
    const own = concat(content.subarray(at, (at += sizes[n]!)));
    arrays[name] = { type, shape, values: KINDS[type]!.read(own.buffer) };
  });
  return arrays;
}

function readIndex(bytes: Uint8Array): [string, string, number[]][] {
  try {
    const read: unknown = JSON.parse(text(bytes));
    const whole = (n: unknown) => Number.isInteger(n) && (n as number) >= 0;
    const fits = (one: unknown): one is [string, string, number[]] =>
      Array.isArray(one) &&
      one.length === 3 &&
      typeof one[0] === "string" &&
      typeof one[1] === "string" &&
      Object.hasOwn(KINDS, one[1]) &&
      Array.isArray(one[2]) &&
      one[2].length <= MOST_DIMENSIONS &&
      one[2].every(whole) &&
      product(one[2].map((n: number) => Math.max(n, 1))) < MOST_VALUES;
    if (Array.isArray(read) && read.every(fits)) return read;
  } catch {
    // said below
  }
  throw malformed("a message of arrays must list its names, types and shapes, but does not.");
}

/** The opposite of `pair` of docs/wire.md: length of the first (4), first, second. */
export function unpackPair(content: Uint8Array): [Uint8Array, Uint8Array] {
  const length = content.length < 4 ? 0 : view(content).getUint32(0, true);
  if (content.length < 4 + length) {
    throw malformed("two messages in one must be as long as they claim, but are not.");
  }
  return [content.subarray(4, 4 + length), content.subarray(4 + length)];
}

export function packPair(first: Uint8Array, second: Uint8Array): Bytes {
  return concat(u32(first.length), first, second);
}

export function checkVersion(version: unknown): void {
  if (version !== PROTOCOL) {
    throw new RefusedError(
      "version",
      `the protocol's version must be ${PROTOCOL}, but it is ${String(version).slice(0, 20)}; load the page anew, or ` +
        "have the older side updated.",
    );
  }
}

function product(shape: readonly number[]): number {
  return shape.reduce((all, n) => all * n, 1);
}
