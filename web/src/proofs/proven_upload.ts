/**
 * What a device shares with a proof (docs/wire.md): the seed aggregator gets a seed and a commitment to the rest, and
 * answers with a challenge; the vector aggregator gets the other half and the proof for that challenge.
 */

import { type Bytes, concat, utf8 } from "../bytes.ts";
import { sha256 } from "../crypto/hashing.ts";
import { DeviceError } from "../device/types.ts";
import type { ProvenVector } from "./circuit.ts";
import { type Elements, ELEMENT_BYTES, expanded, less, packed } from "./field.ts";

export const CHALLENGE_BYTES = 32;
export const COMMITMENT_BYTES = 32;
const SALT_BYTES = 32;
const SEAL_BYTES = 12 + 16; // what a sealed share of a check is longer than its numbers

/** The sealed share of a check as it travels; it has one number more where it `follows` another exchange. */
export function checkBytes(circuit: ProvenVector, follows: boolean): number {
  return SEAL_BYTES + ELEMENT_BYTES * (circuit.gadget.verifierLength + Number(follows));
}

/** What the vector aggregator gets, before it is sealed. */
export function payloadBytes(circuit: ProvenVector, follows: boolean): number {
  const numbers = circuit.length + circuit.gadget.proofLength;
  return SALT_BYTES + CHALLENGE_BYTES + checkBytes(circuit, follows) + ELEMENT_BYTES * numbers;
}

/** HMAC-SHA256 of a purpose and a content. */
export async function derived(
  secret: Uint8Array,
  purpose: string,
  content: Uint8Array = new Uint8Array(),
): Promise<Bytes> {
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", concat(secret), hmac, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, concat(utf8(`murmura proof ${purpose}\0`), content)));
}

export class ProvenUpload {
  private constructor(
    readonly circuit: ProvenVector,
    private readonly vector: Elements,
    private readonly secret: Uint8Array, // 32 bytes that the device keeps for this upload
    private readonly seed: Bytes,
    private readonly salt: Bytes,
    private readonly half: Bytes, // what the seed does not stand for
    /** The payload for the seed aggregator. */
    readonly first: Bytes,
    readonly commitment: Bytes,
  ) {}

  static async of(circuit: ProvenVector, vector: Elements, secret: Uint8Array): Promise<ProvenUpload> {
    const [seed, salt] = [await derived(secret, "seed"), await derived(secret, "salt")];
    const half = packed(less(vector, await expanded(seed, circuit.length)));
    const commitment = await sha256(utf8("murmura commitment\0"), salt, half);
    return new ProvenUpload(circuit, vector, secret, seed, salt, half, concat(seed, commitment), commitment);
  }

  /** The payload for the vector aggregator, once the challenge is known; nothing invalid is ever sent. */
  async second(challenge: Uint8Array, check: Uint8Array): Promise<Bytes> {
    const { gadget } = this.circuit;
    const r = await expanded(challenge, this.circuit.challenges);
    const inputs = this.circuit.inputs(this.vector, r);
    const blinds = await expanded(await derived(this.secret, "blinds", challenge), gadget.blinds);
    const proof = gadget.prove(inputs.a, inputs.b, blinds);
    if (!gadget.accepts(gadget.query(inputs, proof, await this.point()))) {
      throw new DeviceError("what is sent must pass its own check, but does not; nothing more is sent.");
    }
    const own = await expanded(await derived(this.seed, "half", challenge), gadget.proofLength);
    return concat(this.salt, challenge, check, this.half, packed(less(proof, own)));
  }

  private async point(): Promise<bigint> {
    const seed = await derived(this.secret, "own check");
    for (let tried = 1; ; tried++) {
      const point = (await expanded(seed, tried)).at(-1)!;
      if (!this.circuit.gadget.forbids(point)) return point;
    }
  }
}
