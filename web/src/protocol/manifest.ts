/** What is promised about one round, signed by the coordinator and by both aggregators, and logged. */

import { type Bytes, concat, toHex, view } from "../bytes.ts";
import { sha256 } from "../crypto/hashing.ts";
import { forged, malformed } from "../refusals.ts";
import { readCanonical } from "./canonical.ts";
import {
  boolean,
  count,
  hexadecimal,
  list,
  mapping,
  nullOr,
  number,
  publicKey,
  record,
  seconds,
  string,
  whole,
} from "./fields.ts";
import { LogProof, manifestEntry } from "./log.ts";
import { isNoisy } from "./noise.ts";
import { type FederationTerms, signatures } from "./terms.ts";

const LARGEST = 1 << 16;
export const LARGEST_ENVELOPE = LARGEST + (1 << 13);
const MOST_CHANGES = 8;

/** Something published under a hash; `base` is "" for the whole. */
export interface Download {
  hash: string;
  bytes: number;
  base: string;
}

export interface ManifestFields {
  protocol: number;
  terms: string;
  federation: string;
  serial: number;
  round: number;
  window: number;
  nonce: string;
  previous: string;
  phase: string;
  part: number;
  part_seed: string;
  model: Download;
  changes: Download[];
  shapes: Record<string, number[]>;
  counts: Download | null;
  answers: boolean;
  called: number;
  largest: number;
  opened: number;
  deadline: number;
  hold: number;
  spread: number;
  privacy: { noise: number; epsilon: number; delta: number; unit: string; against: string } | null;
}

const download = record({ hash: publicKey, bytes: count, base: hexadecimal });
const share = number((value) => value >= 0 && value < 2 ** 40);
const FIELDS = record({
  protocol: whole(2, 3),
  terms: publicKey,
  federation: hexadecimal,
  serial: count,
  round: count,
  window: count,
  nonce: hexadecimal,
  previous: hexadecimal,
  phase: string,
  part: number((value) => value > 0 && value <= 1),
  part_seed: hexadecimal,
  model: download,
  changes: list(download, MOST_CHANGES),
  shapes: mapping(list(whole(0, 2 ** 48), 32)),
  counts: nullOr(download),
  answers: boolean,
  called: count,
  largest: count,
  opened: seconds,
  deadline: seconds,
  hold: seconds,
  spread: seconds,
  privacy: nullOr(record({ noise: share, epsilon: share, delta: share, unit: string, against: string })),
});

export interface Manifest extends ManifestFields {
  hash: Bytes; // its name: every share and ticket of the round carries it
  name: string; // the same in hexadecimal
}

/** A manifest as devices get it: who stands for it, and where it is in the public log. */
export class SignedManifest {
  private constructor(
    readonly content: Bytes,
    private readonly signed: Uint8Array[],
    readonly proof: LogProof,
    readonly manifest: Manifest, // what it says; nothing is checked yet
  ) {}

  static async decode(message: Uint8Array): Promise<SignedManifest> {
    const at = 3 * 64 + 4;
    if (message.length <= at || message.length > LARGEST_ENVELOPE) {
      throw malformed(`a signed manifest must not have ${message.length} bytes.`);
    }
    const length = view(message).getUint32(at - 4, true);
    if (length > LARGEST || at + length > message.length) {
      throw malformed("a signed manifest must be as long as it claims, but is not.");
    }
    const content = concat(message.subarray(at, at + length));
    const proof = LogProof.decode(message.subarray(at + length));
    const fields = readCanonical<ManifestFields>(content, FIELDS, "a manifest");
    const hash = await sha256(content);
    return new SignedManifest(content, signatures(message), proof, { ...fields, hash, name: toHex(hash) });
  }

  /** Refuse one that a machine of these terms did not sign, that is not in the log, or promises other noise. */
  async check(terms: FederationTerms): Promise<void> {
    await terms.checkSigned("manifest", this.content, this.signed);
    await this.proof.check(terms, manifestEntry(this.content));
    const { noise } = terms.fields;
    const { privacy, phase } = this.manifest;
    const same = isNoisy(noise)
      ? privacy !== null &&
        privacy.noise === (noise.multipliers[phase] ?? 0) &&
        privacy.epsilon === noise.epsilon &&
        privacy.delta === noise.delta &&
        privacy.unit === noise.unit &&
        privacy.against === noise.against
      : privacy === null;
    if (!same) throw forged("a manifest must promise the noise of its terms, but promises other.");
  }
}
