/**
 * Additive shares: the expansion of a fresh 32-byte seed (AES-256 in counter mode, by the browser), and what is
 * missing. Whoever has only one of them has only noise.
 */

import { concat } from "../bytes.ts";
import type { Ring } from "./ring.ts";

export const SEED_BYTES = 32;

/** The share that a seed stands for: the key stream from block 0, as words of the ring. */
export async function expand(seed: Uint8Array, ring: Ring): Promise<Uint32Array> {
  const key = await crypto.subtle.importKey("raw", concat(seed), "AES-CTR", false, ["encrypt"]);
  const zeros = new Uint8Array(ring.messageBytes);
  // a key is used for one vector only, so the counter may begin at 0
  const stream = await crypto.subtle.encrypt({ name: "AES-CTR", counter: new Uint8Array(16), length: 128 }, key, zeros);
  return ring.unpack(new Uint8Array(stream));
}

/** What is missing from the seed's share to the vector. */
export async function otherShare(vector: Uint32Array, seed: Uint8Array, ring: Ring): Promise<Uint32Array> {
  return ring.less(vector, await expand(seed, ring));
}
