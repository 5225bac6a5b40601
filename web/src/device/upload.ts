/** What leaves a device: the messages of one upload, and how each is sealed to whoever it is for. */

import { type Bytes, concat } from "../bytes.ts";
import { Ring } from "../channel/ring.ts";
import { otherShare } from "../channel/shares.ts";
import { sha256Hex } from "../crypto/hashing.ts";
import { checkSignature } from "../crypto/signatures.ts";
import type { Phase } from "../methods/method.ts";
import { letter, LETTER_HEADER, NO_RECEIPT, sealedShare, SHARE_HEADER, type ShareParts } from "../protocol/report.ts";
import type { AggregatorAddress } from "../protocol/signed_records.ts";
import type { FederationTerms } from "../protocol/terms.ts";
import { ProvedHalf, type SeedAnswer } from "./proved_half.ts";
import type { Trainer, TrainingResult } from "./training.ts";

/** One message of an upload, before it is sealed. */
export interface UploadMessage {
  url: string;
  purpose: "seed share" | "vector share" | "letter";
  payload: Bytes;
  aggregator: AggregatorAddress | null; // null: the coordinator, in readable mode
  length: number; // its bytes on the way
}

/** What every message of an upload carries. */
export type Credentials = Pick<ShareParts, "manifest" | "report" | "ticket" | "mark" | "admission">;

/** What the machines that took an upload signed. */
export interface Countersigned {
  signatures: Bytes[];
  proved: Bytes; // what the first one covers besides the mark
}

/** What leaves, in the order of sending. */
export interface PreparedUpload {
  messages: UploadMessage[];
  proved: ProvedHalf | null; // where the second message needs an answer to the first: it is still without payload
}

/** What leaves and for whom; of one length for everyone. */
export async function preparedUpload(
  terms: FederationTerms,
  url: string,
  phase: Phase,
  { vector, packed, claim }: TrainingResult,
  seed: Bytes,
  trainer: Trainer,
): Promise<PreparedUpload> {
  const [first, second] = terms.aggregators;
  if (!first || !second) {
    const length = packed.length + LETTER_HEADER;
    const letter = { url: `${url}/letters`, purpose: "letter" as const, payload: packed, aggregator: null, length };
    return { messages: [letter], proved: null };
  }
  const share = (purpose: "seed share" | "vector share", to: AggregatorAddress, payload: Bytes): UploadMessage => ({
    url: `${to.url}/reports`,
    purpose,
    payload,
    aggregator: to,
    length: payload.length + SHARE_HEADER,
  });
  if (claim && vector instanceof BigUint64Array) {
    const proved = await ProvedHalf.of(phase, claim, vector, seed, trainer);
    const empty = share("vector share", second, new Uint8Array());
    const messages = [share("seed share", first, proved.first), { ...empty, length: empty.length + proved.length }];
    return { messages, proved };
  }
  const ring = new Ring(terms.channel.ring, vector.length);
  const other = ring.pack(await otherShare(vector as Uint32Array, seed, ring));
  return { messages: [share("seed share", first, seed), share("vector share", second, other)], proved: null };
}

/** Every message in its order, each with the receipt of the one before, and with a proof for its answer. */
export async function sentInOrder(
  { messages, proved }: PreparedUpload,
  terms: FederationTerms,
  by: Credentials,
  post: (message: UploadMessage, body: Bytes) => Promise<Bytes>,
): Promise<Countersigned> {
  const signatures: Bytes[] = [];
  let answer: SeedAnswer | null = null;
  for (const [kind, message] of messages.entries()) {
    const payload = answer && proved ? await proved.second(answer) : message.payload;
    const { aggregator } = message;
    const body = aggregator
      ? await sealedShare({
          ...by,
          kind: kind as 0 | 1,
          receipt: signatures.at(-1) ?? NO_RECEIPT,
          payload,
          proved: answer && { commitment: proved!.commitment, challenge: answer.challenge },
          to: aggregator.sealing_key,
        })
      : letter({ ...by, payload });
    const said = await post(message, body);
    const first: SeedAnswer | null = proved && kind === 0 ? proved.read(said) : null;
    const signed = first?.receipt ?? said;
    const covered = concat(by.manifest, by.report, by.mark, first?.covered ?? new Uint8Array());
    await checkSignature(aggregator?.key ?? terms.fields.coordinator, "receipt", covered, signed);
    signatures.push(signed);
    answer ??= first;
  }
  return { signatures, proved: answer?.covered ?? new Uint8Array() };
}

/** Of everything that leaves, before it is sealed: the same after a crash. A commitment stands for what is proved. */
export function digestOf(messages: readonly UploadMessage[]): Promise<string> {
  return sha256Hex(concat(...messages.map((one) => one.payload)));
}
