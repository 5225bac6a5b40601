/** Who said it: Ed25519 (RFC 8032) by the browser, over a purpose and a content. */

import { type Bytes, concat, fromBase64Url, fromHex, utf8 } from "../bytes.ts";
import { forged } from "../refusals.ts";

export const SIGNATURE_BYTES = 64;
const PKCS8 = fromHex("302e020100300506032b657004220420"); // what stands before the 32 bytes of a private key

/** A private key and what others verify with. */
export interface SigningKey {
  readonly public: Bytes; // (32,)
  sign(purpose: string, ...content: readonly Uint8Array[]): Promise<Bytes>;
}

export async function signingKey(seed: Uint8Array): Promise<SigningKey> {
  const key = await crypto.subtle.importKey("pkcs8", concat(PKCS8, seed), "Ed25519", true, ["sign"]);
  const shown = fromBase64Url((await crypto.subtle.exportKey("jwk", key)).x ?? "");
  if (shown?.length !== 32) throw new TypeError("an Ed25519 key has 32 bytes");
  return {
    public: shown,
    sign: async (purpose, ...content) =>
      new Uint8Array(await crypto.subtle.sign("Ed25519", key, purposed(purpose, ...content))),
  };
}

/** Refuse what the owner of the key (hexadecimal) did not sign for this purpose. */
export async function checkSignature(
  by: string,
  purpose: string,
  content: Uint8Array,
  signature: Uint8Array,
): Promise<void> {
  if (!(await fits(by, purpose, content, signature))) {
    throw forged(`the ${purpose}'s signature must be of the right machine, but is not.`);
  }
}

async function fits(by: string, purpose: string, content: Uint8Array, signature: Uint8Array): Promise<boolean> {
  if (signature.length !== SIGNATURE_BYTES) return false;
  try {
    const key = await crypto.subtle.importKey("raw", fromHex(by), "Ed25519", false, ["verify"]);
    return await crypto.subtle.verify("Ed25519", key, concat(signature), purposed(purpose, content));
  } catch {
    return false; // no point of the curve
  }
}

function purposed(purpose: string, ...content: readonly Uint8Array[]): Bytes {
  return concat(utf8(`murmura ${purpose}\0`), ...content);
}
