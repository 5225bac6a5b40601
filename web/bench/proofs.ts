/** One proved upload of pairs at the size of ml-1m: 3,416 items, and somebody with 2,314 of them. */

import { here } from "../src/device/training.ts";
import { Stream } from "../src/numerics/philox.ts";
import { circuitOf, type PairsClaim, provenVector } from "../src/proofs/claims.ts";
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

/** What is done before the seed aggregator answers, and after; the bytes of both payloads. */
export function provedUpload(): { before: () => Promise<unknown>; after: () => Promise<number> } {
  const own = new Stream([7, 8], 0, 1024).choose(ITEMS, OWN);
  const circuit = circuitOf(PAIRS);
  const [secret, challenge] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
  const check = new Uint8Array(checkBytes(circuit, true));
  const vector = provenVector(PAIRS, own);
  return {
    before: async () => here.commit({ claim: PAIRS, vector: provenVector(PAIRS, own), secret }),
    after: async () => {
      const { length } = await here.prove({ claim: PAIRS, vector, secret, challenge, check });
      if (length !== payloadBytes(circuit, true)) throw new Error("a proof must have its length, but has another");
      return length;
    },
  };
}
