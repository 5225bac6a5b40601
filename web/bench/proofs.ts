/** One proved upload of pairs at the size of ml-1m: exact ones of 3,416 items, and noisy ones of 1,000. */

import { here } from "../src/device/training.ts";
import { Stream } from "../src/numerics/philox.ts";
import { circuitOf, type PairsClaim, provenVector, type WeightedClaim } from "../src/proofs/claims.ts";
import { checkBytes, payloadBytes } from "../src/proofs/proven_upload.ts";

const ITEMS = 3416;
const OWN = 2314;
const [RAREST, MOST] = [5, 3428]; // how often items occur, from the rarest to the most frequent

export const PAIRS: PairsClaim = {
  kind: "pairs",
  counted: { kind: "counts", items: Array.from({ length: ITEMS }, (_, item) => item), people: 1, cap: ITEMS },
  ranked: Array.from({ length: ITEMS }, (_, rank) => rank),
  bounds: Array.from({ length: ITEMS }, (_, rank) => Math.round(RAREST * (MOST / RAREST) ** (rank / (ITEMS - 1)))),
  rows: null,
};

export const NOISY: WeightedClaim = {
  kind: "weighted pairs",
  items: Array.from({ length: 1000 }, (_, item) => item),
  people: 1,
  few: 16,
  size: { bits: 16, cohort: 6040, multiplier: 1.1 },
};

/** What is done before the seed aggregator answers, and after; the bytes of both payloads. */
export function provedUpload(claim: PairsClaim | WeightedClaim): {
  before: () => Promise<unknown>;
  after: () => Promise<number>;
} {
  const exact = claim.kind === "pairs";
  const own = new Stream([7, 8], 0, 1024).choose(exact ? ITEMS : 1000, exact ? OWN : 605);
  const circuit = circuitOf(claim);
  const [secret, challenge] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
  const check = new Uint8Array(checkBytes(circuit, exact));
  const vector = provenVector(claim, own);
  return {
    before: async () => here.commit({ claim, vector: provenVector(claim, own), secret }),
    after: async () => {
      const { length } = await here.prove({ claim, vector, secret, challenge, check });
      if (length !== payloadBytes(circuit, exact)) throw new Error("a proof must have its length, but has another");
      return length;
    },
  };
}
