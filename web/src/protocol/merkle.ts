/** Proofs of an append-only Merkle tree: RFC 9162 (Certificate Transparency), section 2.1. */

import { type Bytes, equal } from "../bytes.ts";
import { sha256 } from "../crypto/hashing.ts";

export function leafHash(content: Uint8Array): Promise<Bytes> {
  return sha256(Uint8Array.of(0), content);
}

function nodeHash(left: Uint8Array, right: Uint8Array): Promise<Bytes> {
  return sha256(Uint8Array.of(1), left, right);
}

/** Whether a proof shows that a leaf is at its place in a tree: RFC 9162, 2.1.3.2. */
export async function includes(
  leaf: Uint8Array,
  index: number,
  size: number,
  root: Uint8Array,
  proof: readonly Uint8Array[],
): Promise<boolean> {
  if (index < 0 || index >= size) return false;
  let place = index;
  let last = size - 1;
  let found: Uint8Array = leaf;
  for (const step of proof) {
    if (last === 0) return false;
    if (place % 2 || place === last) {
      found = await nodeHash(step, found);
      while (place % 2 === 0 && place) [place, last] = [half(place), half(last)];
    } else {
      found = await nodeHash(found, step);
    }
    [place, last] = [half(place), half(last)];
  }
  return last === 0 && equal(found, root);
}

/** Whether a proof shows that a tree begins with all leaves of an earlier one: RFC 9162, 2.1.4.2. */
export async function extendsTree(
  first: number,
  before: Uint8Array,
  size: number,
  root: Uint8Array,
  proof: readonly Uint8Array[],
): Promise<boolean> {
  if (first > size || first < 0) return false;
  if (first === size || first === 0) return proof.length === 0 && (first === 0 || equal(before, root));
  const steps = Number.isInteger(Math.log2(first)) ? [before, ...proof] : [...proof];
  if (!steps.length) return false;
  let place = first - 1;
  let last = size - 1;
  while (place % 2) [place, last] = [half(place), half(last)];
  let old: Uint8Array = steps[0]!;
  let now: Uint8Array = steps[0]!;
  for (const step of steps.slice(1)) {
    if (last === 0) return false;
    if (place % 2 || place === last) {
      old = await nodeHash(step, old);
      now = await nodeHash(step, now);
      while (place % 2 === 0 && place) [place, last] = [half(place), half(last)];
    } else {
      now = await nodeHash(now, step);
    }
    [place, last] = [half(place), half(last)];
  }
  return last === 0 && equal(old, before) && equal(now, root);
}

/** Sizes may be above 2**31: no shift of 32 bits. */
function half(n: number): number {
  return Math.floor(n / 2);
}
