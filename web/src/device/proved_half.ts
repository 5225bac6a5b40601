/**
 * The half of an upload that is proved: its proof is made for a challenge, which the seed aggregator answers with
 * after it has a commitment. The arithmetic is done where training is.
 */

import { type Bytes, concat } from "../bytes.ts";
import { SEED_BYTES } from "../channel/shares.ts";
import { sha256Hex } from "../crypto/hashing.ts";
import { SIGNATURE_BYTES } from "../crypto/signatures.ts";
import type { Phase } from "../methods/method.ts";
import { circuitOf, type Claim } from "../proofs/claims.ts";
import type { ProvenVector } from "../proofs/circuit.ts";
import { type Elements, packed } from "../proofs/field.ts";
import { CHALLENGE_BYTES, checkBytes, payloadBytes } from "../proofs/proven_upload.ts";
import type { Manifest } from "../protocol/manifest.ts";
import { malformed } from "../refusals.ts";
import type { LinkedVector } from "./memory.ts";
import type { Trainer } from "./training.ts";
import { DeviceError } from "./types.ts";

/** What the seed aggregator says of its half. */
export interface SeedAnswer {
  receipt: Bytes; // (64,)
  covered: Bytes; // what the receipt covers besides the mark: commitment and challenge
  challenge: Bytes; // (32,)
  check: Bytes; // sealed for the vector aggregator
}

export class ProvedHalf {
  private constructor(
    private readonly claim: Claim,
    private readonly circuit: ProvenVector,
    private readonly follows: boolean, // whether the vector must be the one of an earlier exchange
    private readonly vector: Elements,
    private readonly secret: Bytes,
    private readonly trainer: Trainer,
    /** The payload for the seed aggregator. */
    readonly first: Bytes,
  ) {}

  static async of(phase: Phase, claim: Claim, vector: Elements, secret: Bytes, trainer: Trainer): Promise<ProvedHalf> {
    const circuit = circuitOf(claim);
    const follows = phase.follows !== "" && circuit.linked > 0;
    const first = await trainer.commit({ claim, vector, secret });
    return new ProvedHalf(claim, circuit, follows, vector, secret, trainer, first);
  }

  get commitment(): Bytes {
    return this.first.slice(SEED_BYTES);
  }

  /** The bytes of the payload for the vector aggregator. */
  get length(): number {
    return payloadBytes(this.circuit, this.follows);
  }

  /** An answer by its parts; refuses one of another length. */
  read(answer: Bytes): SeedAnswer {
    const start = SIGNATURE_BYTES + CHALLENGE_BYTES;
    const needed = start + checkBytes(this.circuit, this.follows);
    if (answer.length !== needed) {
      throw malformed(`an answer to a seed must have ${needed} bytes, but has ${answer.length}; take no part.`);
    }
    const challenge = answer.slice(SIGNATURE_BYTES, start);
    return {
      receipt: answer.slice(0, SIGNATURE_BYTES),
      covered: concat(this.commitment, challenge),
      challenge,
      check: answer.slice(start),
    };
  }

  /** The payload for the vector aggregator. */
  second({ challenge, check }: SeedAnswer): Promise<Bytes> {
    const { claim, vector, secret } = this;
    return this.trainer.prove({ claim, vector, secret, challenge, check });
  }

  /** What later exchanges of the window are held against; refuses a vector that is not the one it must repeat. */
  async linkedAfter(before: LinkedVector | null, manifest: Manifest, phase: Phase): Promise<LinkedVector | null> {
    if (!this.circuit.linked) return before;
    const digest = await sha256Hex(packed(this.vector.slice(0, this.circuit.linked)));
    const here = { phase: phase.follows || phase.name, window: manifest.window, digest };
    const same = before?.phase === here.phase && before.window === here.window && before.digest === here.digest;
    if (phase.follows && !same) {
      // the aggregators would find it out, but that an exchange is refused would tell of a withdrawn item
      throw new DeviceError(
        `what is shared must be what phase '${phase.follows}' counted, but it has changed since; this device sits ` +
          "the exchange out.",
      );
    }
    return here;
  }
}
