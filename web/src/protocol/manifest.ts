/** What is promised about one round, signed by the coordinator and by both aggregators, and logged. */

import { type Bytes, concat, toHex, view } from "../bytes.ts";
import { sha256 } from "../crypto/hashing.ts";
import { forged, malformed } from "../refusals.ts";
import { readCanonical } from "./canonical.ts";
import { LogProof, manifestEntry } from "./log.ts";
import { isNoisy } from "./noise.ts";
import { type ManifestFields, manifestFields } from "./signed_records.ts";
import { type FederationTerms, signatures } from "./terms.ts";

const LARGEST = 1 << 16;
export const LARGEST_ENVELOPE = LARGEST + (1 << 13);

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
    const fields = readCanonical<ManifestFields>(content, manifestFields, "a manifest");
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
