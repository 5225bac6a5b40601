/**
 * The public log of a federation: everything its devices are asked to believe, in one append-only tree. A device
 * demands that what it is shown is in the log, and that the log extends the one it saw last.
 */

import { type Bytes, concat, fromHex, toHex, utf8, view } from "../bytes.ts";
import { HASH_BYTES } from "../crypto/hashing.ts";
import { forged, malformed } from "../refusals.ts";
import { extendsTree, includes, leafHash } from "./merkle.ts";
import { type FederationTerms, signatures } from "./terms.ts";

const DEEPEST = 63; // hashes of a proof
const HEAD_BYTES = 8 + HASH_BYTES + 3 * 64;
const PROOF_BYTES = HEAD_BYTES + 8 + 8 + 1 + 1;

/** How long the log is and what is in it: what a device remembers. */
export interface SeenHead {
  size: number;
  root: string; // hexadecimal
}

export class LogHead {
  private constructor(
    readonly size: number,
    readonly root: Uint8Array,
    private readonly signed: Uint8Array[],
  ) {}

  static decode(message: Uint8Array): LogHead {
    if (message.length !== HEAD_BYTES)
      throw malformed(`a head of the log must have ${HEAD_BYTES} bytes, but has others.`);
    return new LogHead(size(message, 0), message.subarray(8, 8 + HASH_BYTES), signatures(message, 8 + HASH_BYTES));
  }

  get seen(): SeenHead {
    return { size: this.size, root: toHex(this.root) };
  }

  /** Refuse a head that a machine of these terms did not sign. */
  async check(terms: FederationTerms): Promise<void> {
    const { federation } = terms.fields;
    const content = utf8(`{"federation":"${federation}","root":"${toHex(this.root)}","size":${this.size}}`);
    await terms.checkSigned("head", content, this.signed);
  }
}

export class LogProof {
  private constructor(
    readonly head: LogHead,
    readonly index: number,
    readonly before: number, // size of the head published before
    readonly inclusion: Uint8Array[],
    readonly consistency: Uint8Array[],
  ) {}

  static decode(message: Uint8Array): LogProof {
    const short = malformed("a proof of the log must be as long as it claims, but is not.");
    if (message.length < PROOF_BYTES) throw short;
    const inside = message[HEAD_BYTES + 16]!;
    const after = message[HEAD_BYTES + 17]!;
    const hashes = unpackHashes(message.subarray(PROOF_BYTES));
    if (Math.max(inside, after) > DEEPEST || inside + after !== hashes.length) throw short;
    return new LogProof(
      LogHead.decode(message.subarray(0, HEAD_BYTES)),
      size(message, HEAD_BYTES),
      size(message, HEAD_BYTES + 8),
      hashes.slice(0, inside),
      hashes.slice(inside),
    );
  }

  /** Refuse a head that is not signed, and an entry that is not in it. */
  async check(terms: FederationTerms, entry: Uint8Array): Promise<void> {
    await this.head.check(terms);
    if (!(await includes(await leafHash(entry), this.index, this.head.size, this.head.root, this.inclusion))) {
      throw forged("what is shown must be in the public log, but is not; take no part.");
    }
  }
}

/** Whether a log begins with all entries of the one seen before. */
export function isExtended(now: SeenHead, before: SeenHead, proof: readonly Uint8Array[]): Promise<boolean> {
  const [old, root] = [before.root, now.root].map((one) => fromHex(one)) as [Bytes, Bytes];
  return extendsTree(before.size, old, now.size, root, proof);
}

export function manifestEntry(content: Uint8Array): Bytes {
  return concat(utf8("manifest\0"), content);
}

/** The entry of a model: the hash of what a round led to, and of the counts it tells, "" where it tells none. */
export function readModelEntry(entry: Uint8Array): { serial: number; model: string; counts: string } {
  const start = utf8("model\0");
  const content = entry.subarray(start.length);
  const fits = toHex(entry.subarray(0, start.length)) === toHex(start);
  if (!fits || ![8 + HASH_BYTES, 8 + 2 * HASH_BYTES].includes(content.length)) {
    throw malformed("the newest model must be an entry of the log, but is not.");
  }
  const model = toHex(content.subarray(8, 8 + HASH_BYTES));
  return { serial: size(content, 0), model, counts: toHex(content.subarray(8 + HASH_BYTES)) };
}

/** Entries one after the other, each behind its length; refuses a message that is not as long as it claims. */
export function unpackEntries(message: Uint8Array): Uint8Array[] {
  const entries: Uint8Array[] = [];
  const seen = view(message);
  for (let at = 0; at < message.length;) {
    const length = at + 4 <= message.length ? seen.getUint32(at, true) : 0;
    if (length === 0 || at + 4 + length > message.length) {
      throw malformed("entries of the log must be as long as they claim, but are not.");
    }
    entries.push(message.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return entries;
}

export function unpackHashes(message: Uint8Array): Uint8Array[] {
  if (message.length % HASH_BYTES || message.length > 2 * DEEPEST * HASH_BYTES) {
    throw malformed("a proof must be whole hashes, and not too many, but is not.");
  }
  return Array.from({ length: message.length / HASH_BYTES }, (_, n) =>
    message.subarray(n * HASH_BYTES, (n + 1) * HASH_BYTES),
  );
}

function size(message: Uint8Array, at: number): number {
  const found = view(message).getBigUint64(at, true);
  if (found > BigInt(Number.MAX_SAFE_INTEGER)) throw forged("a log must be of a size it can have, but is not.");
  return Number(found);
}
