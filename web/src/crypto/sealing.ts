/**
 * Hybrid public key encryption (RFC 9180): what is sealed to a key, only the owner of that key can read.
 * DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM in base mode, one context per message, by @hpke/core.
 */

import { Aes128Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from "@hpke/core";
import { type Bytes, concat } from "../bytes.ts";
import { forged } from "../refusals.ts";

export const OVERHEAD = 32 + 16; // the encapsulated key before, the tag after

const suite = new CipherSuite({ kem: new DhkemX25519HkdfSha256(), kdf: new HkdfSha256(), aead: new Aes128Gcm() });

/**
 * Encapsulated key (32), ciphertext, tag (16). The one-time key is the system's, unless golden vectors give its
 * private bytes.
 */
export async function seal(
  content: Uint8Array,
  to: Uint8Array,
  info: Uint8Array,
  oneTime?: Uint8Array,
): Promise<Bytes> {
  let key: CryptoKey;
  try {
    key = await suite.kem.deserializePublicKey(concat(to));
  } catch {
    throw forged("a key to seal to must be a point of X25519, but is not; take no part.");
  }
  const given = oneTime === undefined ? {} : { ekm: await pair(oneTime) };
  const context = await suite.createSenderContext({ recipientPublicKey: key, info: concat(info), ...given });
  return concat(new Uint8Array(context.enc), new Uint8Array(await context.seal(concat(content))));
}

/** What was sealed for this purpose to this key; refuses anything else. Devices open nothing: for tests. */
export async function unseal(sealed: Uint8Array, by: Uint8Array, info: Uint8Array): Promise<Bytes> {
  try {
    const key = await suite.kem.deserializePrivateKey(concat(by));
    const opened = await suite.createRecipientContext({
      recipientKey: key,
      enc: concat(sealed.subarray(0, 32)),
      info: concat(info),
    });
    return new Uint8Array(await opened.open(concat(sealed.subarray(32))));
  } catch {
    throw forged("a sealed message must be sealed to this machine's key for this round, but is not.");
  }
}

async function pair(privateBytes: Uint8Array): Promise<CryptoKeyPair> {
  const privateKey = await suite.kem.deserializePrivateKey(concat(privateBytes));
  const jwk = await crypto.subtle.exportKey("jwk", privateKey);
  const publicKey = await suite.kem.importKey("jwk", { kty: "OKP", crv: "X25519", x: jwk.x ?? "" }, true);
  return { privateKey, publicKey };
}
