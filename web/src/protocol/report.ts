/** What leaves in a round: a share is a head, a sealed pass and a sealed payload (docs/wire.md). */

import { type Bytes, concat, fromHex, utf8 } from "../bytes.ts";
import { sha256 } from "../crypto/hashing.ts";
import { OVERHEAD, seal } from "../crypto/sealing.ts";
import { PROTOCOL } from "../message/arrays.ts";
import { ADMISSION_BYTES, type OwnAdmission } from "./admission.ts";

const ID_BYTES = 16;
const PASS_BYTES = 64 + 64 + 32 + ADMISSION_BYTES + 32 + 32 + 64;
const HEAD_BYTES = 4 + 32 + ID_BYTES;
export const SHARE_HEADER = HEAD_BYTES + PASS_BYTES + 2 * OVERHEAD; // what a share is longer than its payload
export const LETTER_HEADER = HEAD_BYTES + 64 + 32;
export const TICKET_REQUEST_BYTES = 32 + ID_BYTES;
export const NO_RECEIPT = new Uint8Array(64);
const NO_CHALLENGE = new Uint8Array(32);

/** The id of this device's one report in a round: the same after a crash, random to the aggregators. */
export async function reportId(token: string, manifest: Uint8Array): Promise<Bytes> {
  return (await sha256(utf8(`murmura report\0${token}`), manifest)).slice(0, ID_BYTES);
}

/** What an aggregator countersigns: it tells nothing, and with the salt it proves which journal there was. */
export function journalMark(salt: Uint8Array, head: string): Promise<Bytes> {
  return sha256(utf8("murmura journal\0"), salt, fromHex(head));
}

/** What the second half of a proved vector was committed to by, and what its proof is made for. */
export interface ProvedFor {
  commitment: Uint8Array;
  challenge: Uint8Array;
}

export interface ShareParts {
  kind: 0 | 1; // the seed, the vector
  manifest: Uint8Array;
  report: Uint8Array;
  ticket: Uint8Array;
  receipt: Uint8Array; // of the seed share; zeros on the seed itself
  mark: Uint8Array;
  payload: Uint8Array;
  proved: ProvedFor | null; // of a vector with its proof; null: of all others
  admission: OwnAdmission | null; // null where everyone may take part
  to: string; // sealing key, hexadecimal
}

export interface OneTimeKeys {
  pass: Uint8Array;
  payload: Uint8Array;
}

/** As it travels, sealed to the aggregator it is for; one-time keys are given by golden vectors alone. */
export async function sealedShare(share: ShareParts, given?: OneTimeKeys): Promise<Bytes> {
  const { kind, manifest, report, admission } = share;
  const key = fromHex(share.to);
  const tail = Uint8Array.of(kind);
  const info = (part: string) => concat(utf8(`murmura ${part}\0`), manifest, tail, report);
  const payload = await seal(share.payload, key, info("payload"), given?.payload);
  const pass = await seal(
    await passOf(share, share.proved?.commitment ?? (await sha256(payload)), admission),
    key,
    info("pass"),
    given?.pass,
  );
  return concat(utf8("ms"), Uint8Array.of(PROTOCOL, kind), manifest, report, pass, payload);
}

/** Why a share is to be counted. */
async function passOf(share: ShareParts, named: Uint8Array, admission: OwnAdmission | null): Promise<Bytes> {
  const shown = admission?.shown ?? new Uint8Array(ADMISSION_BYTES);
  const signature = admission
    ? await admission.key.sign("report", share.manifest, share.report, Uint8Array.of(share.kind), named)
    : new Uint8Array(64);
  const challenge = share.proved?.challenge ?? NO_CHALLENGE;
  return concat(share.ticket, share.receipt, share.mark, shown, named, challenge, signature);
}

/** The same content where the server may read it. */
export function letter(parts: Pick<ShareParts, "manifest" | "report" | "ticket" | "mark" | "payload">): Bytes {
  const { manifest, report, ticket, mark, payload } = parts;
  return concat(utf8("ml"), Uint8Array.of(PROTOCOL, 0), manifest, report, ticket, mark, payload);
}
