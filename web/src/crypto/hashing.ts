/** SHA-256, by the browser. */

import { type Bytes, concat, toHex } from "../bytes.ts";

export const HASH_BYTES = 32;

export async function sha256(...parts: readonly Uint8Array[]): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", concat(...parts)));
}

export async function sha256Hex(...parts: readonly Uint8Array[]): Promise<string> {
  return toHex(await sha256(...parts));
}
