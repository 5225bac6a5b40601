/** What leaves a device: the messages of one upload, and how each is sealed to whoever it is for. */

import { type Bytes, concat } from "../bytes.ts";
import { Ring } from "../channel/ring.ts";
import { otherShare } from "../channel/shares.ts";
import { sha256Hex } from "../crypto/hashing.ts";
import type { OwnAdmission } from "../protocol/admission.ts";
import { letter, LETTER_HEADER, sealedShare, SHARE_HEADER } from "../protocol/report.ts";
import type { AggregatorAddress } from "../protocol/signed_records.ts";
import type { FederationTerms } from "../protocol/terms.ts";

/** One message of an upload, before it is sealed. */
export interface UploadMessage {
  url: string;
  purpose: "seed share" | "vector share" | "letter";
  payload: Bytes;
  aggregator: AggregatorAddress | null; // null: the coordinator, in readable mode
  length: number; // its bytes on the way
}

/** What a message is sealed with. */
export interface Credentials {
  manifest: Uint8Array;
  report: Uint8Array;
  ticket: Uint8Array;
  receipt: Uint8Array; // of the message before it
  mark: Uint8Array;
  admission: OwnAdmission | null;
}

/** What leaves and for whom, in the order of sending; of one length for everyone. */
export async function uploadMessages(
  terms: FederationTerms,
  url: string,
  vector: Uint32Array,
  seed: Bytes,
): Promise<UploadMessage[]> {
  const ring = new Ring(terms.channel.ring, vector.length);
  const [first, second] = terms.aggregators;
  if (!first || !second) {
    const payload = ring.pack(vector);
    return [
      { url: `${url}/letters`, purpose: "letter", payload, aggregator: null, length: payload.length + LETTER_HEADER },
    ];
  }
  const other = ring.pack(await otherShare(vector, seed, ring));
  const share = (purpose: "seed share" | "vector share", to: AggregatorAddress, payload: Bytes): UploadMessage => ({
    url: `${to.url}/reports`,
    purpose,
    payload,
    aggregator: to,
    length: payload.length + SHARE_HEADER,
  });
  return [share("seed share", first, seed), share("vector share", second, other)];
}

/** As it travels. */
export async function sealed(message: UploadMessage, kind: 0 | 1, by: Credentials): Promise<Bytes> {
  const { payload, aggregator } = message;
  if (!aggregator) return letter({ ...by, payload });
  return sealedShare({ ...by, kind, payload, to: aggregator.sealing_key });
}

/** Of everything that leaves, before it is sealed: the same after a crash. */
export function digestOf(messages: readonly UploadMessage[]): Promise<string> {
  return sha256Hex(concat(...messages.map((one) => one.payload)));
}
