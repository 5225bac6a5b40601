/**
 * Who may take part: an invitation is a link `murmura://host#2.<hash of the terms>.<admission>`; the admission in
 * it is a private key of its own, how long it is valid, and the admitter's signature over its public half.
 */

import { type Bytes, concat, fromBase64Url, fromHex, toBase64Url, u64, utf8, view } from "../bytes.ts";
import { HASH_BYTES } from "../crypto/hashing.ts";
import { checkSignature, type SigningKey, signingKey } from "../crypto/signatures.ts";
import { forged, malformed } from "../refusals.ts";
import { checkAddress, hostOf, isLoopback } from "./addresses.ts";
import type { FederationTerms } from "./terms.ts";

export const ADMISSION_BYTES = 104;
const LINK = /^murmura(?:\+(https?))?:\/\/([^#\s]+)#2\.([\w-]{43})(?:\.([\w-]+))?$/;
const LONGEST_LINK = 2000;

/** What a device holds: the right to be counted as one. */
export interface OwnAdmission {
  content: Bytes; // (104,) with the private key, as an invitation carries it
  key: SigningKey;
  shown: Bytes; // (104,) the public half
}

export async function ownAdmission(content: Uint8Array): Promise<OwnAdmission> {
  const key = await signingKey(content.subarray(0, 32));
  return { content: concat(content), key, shown: concat(key.public, content.subarray(32)) };
}

/** Refuse what the admitter of this federation did not sign, and what is over. */
export async function checkAdmission(shown: Uint8Array, terms: FederationTerms, now: number): Promise<void> {
  if (shown.length !== ADMISSION_BYTES) throw malformed(`an admission must have ${ADMISSION_BYTES} bytes.`);
  const expires = Number(view(shown).getBigUint64(32, true));
  const content = concat(fromHex(terms.fields.federation), shown.subarray(0, 32), u64(expires));
  await checkSignature(terms.fields.admitter, "admission", content, shown.subarray(40));
  if (expires && now > expires) throw forged("this invitation must still be valid, but has expired; ask for another.");
}

/** What a device signs to take a place under its token. */
export function joinProof(admission: OwnAdmission, federation: string, token: string): Promise<Bytes> {
  return admission.key.sign("join", fromHex(federation), utf8(token));
}

/** Where a federation is, which one it is, and perhaps the right to take part. */
export interface Invitation {
  url: string;
  terms: Bytes; // (32,) hash
  admission: Bytes | null; // (104,)
}

export function readInvitation(link: string): Invitation {
  const found = LINK.exec(link.trim().slice(0, LONGEST_LINK));
  const wrong = malformed(
    "an invitation must be a link murmura://host#2.… as `murmura invite create` prints it, but is not; copy it whole.",
  );
  if (!found) throw wrong;
  const [, scheme, place, pinned, own] = found;
  const terms = fromBase64Url(pinned!);
  const admission = own === undefined ? null : fromBase64Url(own);
  const fits = admission === null ? own === undefined : admission.length === ADMISSION_BYTES;
  if (terms?.length !== HASH_BYTES || !fits) throw wrong;
  const url = `${scheme ?? (isLoopback(hostOf(`https://${place}`)) ? "http" : "https")}://${place}`.replace(/\/+$/, "");
  return { url, terms, admission };
}

/** The link of an invitation, for moving to another device. */
export function invitationLink({ url, terms, admission }: Invitation): string {
  const [scheme, place] = url.split("://") as [string, string];
  const standard = isLoopback(hostOf(url)) ? "http" : "https";
  const parts = ["2", toBase64Url(terms), ...(admission ? [toBase64Url(admission)] : [])];
  return `murmura${scheme === standard ? "" : `+${scheme}`}://${place}#${parts.join(".")}`;
}

/** Refuse an invitation that plain HTTP would carry to another machine. */
export function checkInvited(invitation: Invitation): void {
  checkAddress(invitation.url);
}
