/**
 * What a federation is, agreed by its coordinator and both aggregators, and pinned by every device that joins.
 * A device takes part under the terms of its invitation and no others.
 */

import { type ChannelSettings, channelSettings } from "../channel/settings.ts";
import { sha256 } from "../crypto/hashing.ts";
import { checkSignature, SIGNATURE_BYTES } from "../crypto/signatures.ts";
import { type Bytes, concat, toHex } from "../bytes.ts";
import { forged, malformed } from "../refusals.ts";
import { checkPlain, hostOf, isLoopback } from "./addresses.ts";
import { readCanonical } from "./canonical.ts";
import { checkNoise, isNoisy } from "./noise.ts";
import {
  type AggregatorAddress,
  type FederationTermsFields,
  federationTermsFields,
  type LostLog,
} from "./signed_records.ts";

const LARGEST = 1 << 16;
const CLOCKS_DIFFER = 600;
export const SIGNED_TERMS_BYTES = 3 * SIGNATURE_BYTES + LARGEST;

export class FederationTerms {
  private constructor(
    readonly content: Bytes,
    readonly hash: Bytes,
    readonly fields: FederationTermsFields,
  ) {}

  /** From canonical bytes; refuses another version, other fields, other spellings and a single machine. */
  static async decode(content: Uint8Array): Promise<FederationTerms> {
    if (content.length > LARGEST) throw malformed(`terms must have at most ${LARGEST} bytes, but have more.`);
    const fields = readCanonical<FederationTermsFields>(content, federationTermsFields, "a statement of terms");
    checkMachines(fields);
    return new FederationTerms(concat(content), await sha256(content), fields);
  }

  /** Signed terms as they travel; refuses those that one of their machines has not signed. */
  static async decodeSigned(message: Uint8Array): Promise<FederationTerms> {
    const terms = await FederationTerms.decode(message.subarray(3 * SIGNATURE_BYTES));
    await terms.checkSigned("terms", terms.content, signatures(message));
    return terms;
  }

  get name(): string {
    return toHex(this.hash);
  }

  get readable(): boolean {
    return this.fields.channel.channel === "readable";
  }

  get channel(): ChannelSettings {
    return channelSettings(this.fields.channel);
  }

  /** The seed and the vector aggregator; none in readable mode. */
  get aggregators(): AggregatorAddress[] {
    return [this.fields.seed_aggregator, this.fields.vector_aggregator].filter((one) => one !== null);
  }

  /** Refuse what the coordinator and the aggregators of these terms have not all signed. */
  async checkSigned(purpose: string, content: Uint8Array, signed: readonly Uint8Array[]): Promise<void> {
    const keys = [this.fields.coordinator, ...this.aggregators.map((one) => one.key)];
    for (const [place, key] of keys.entries()) await checkSignature(key, purpose, content, signed[place]!);
  }

  /** Whether a window is that of a time, as far as two clocks agree. */
  isWindow(window: number, time: number): boolean {
    const slack = Math.min(CLOCKS_DIFFER, this.fields.windows.seconds / 4);
    return this.window(time - slack) <= window && window <= this.window(time + slack);
  }

  private window(time: number): number {
    const { start, seconds } = this.fields.windows;
    return seconds === 0 ? 0 : Math.max(0, Math.floor((time - start) / seconds));
  }

  /** Where the log ends by these terms, and did not by those before; null: it goes on. */
  lostAfter(before: FederationTerms): LostLog | null {
    const [now, then] = [this.fields.lost, before.fields.lost];
    return now && JSON.stringify(now) !== JSON.stringify(then) ? now : null;
  }

  /** What other terms change, one clause each: "channel.minimum_cohort 100 → 5". */
  differences(other: FederationTerms): string[] {
    const [ours, theirs] = [this, other].map(({ fields: { lost: _, ...fields } }) => flat(fields)) as [Flat, Flat];
    const names = [...new Set([...ours.keys(), ...theirs.keys()])].sort();
    const shown = (value: string | undefined) =>
      value && value.length > 40 ? `${value.slice(0, 16)}…` : (value ?? "–");
    const changes = names
      .filter((name) => ours.get(name) !== theirs.get(name))
      .map((name) => `${name} ${shown(ours.get(name))} → ${shown(theirs.get(name))}`);
    const end = other.lostAfter(this);
    return end === null ? changes : [lostSentence(end.entries), ...changes];
  }
}

/** The three signatures a message begins with. */
export function signatures(message: Uint8Array, at = 0): Uint8Array[] {
  return [0, 1, 2].map((n) => message.subarray(at + n * SIGNATURE_BYTES, at + (n + 1) * SIGNATURE_BYTES));
}

/** Refuse terms under which one machine could read an update, whatever anybody has agreed to. */
function checkMachines(terms: FederationTermsFields): void {
  const { seed_aggregator: seed, vector_aggregator: vector } = terms;
  const readable = terms.channel.channel === "readable";
  const pair = [seed, vector].filter((one) => one !== null);
  if (pair.length !== (readable ? 0 : 2)) {
    throw malformed("terms must name two aggregators for a secure sum and none for readable mode.");
  }
  if ((terms.admission === "invited") !== (terms.admitter.length === 64)) {
    throw malformed("terms must name the key that admits, or admit everyone.");
  }
  if (terms.admitter && terms.admitter === terms.coordinator) {
    throw forged("the coordinator must not admit devices itself; take no part.");
  }
  checkNoise(terms.noise);
  if (!seed || !vector) {
    if (isNoisy(terms.noise)) throw forged("terms must claim no noise where the server reads each update.");
    return;
  }
  const agreed = new Set([seed.sealing_key, vector.sealing_key, seed.proof_key, vector.proof_key]);
  if (new Set([seed.key, vector.key, terms.coordinator]).size < 3 || agreed.size < 4) {
    throw forged(
      "the coordinator and the two aggregators must have three different keys, but two are equal: one machine " +
        "could read what you send; take no part.",
    );
  }
  const host = hostOf(seed.url);
  if (host === hostOf(vector.url) && !isLoopback(host)) {
    throw forged(`the two aggregators must be on two hosts, but both are on ${host}; take no part.`);
  }
  for (const { url } of pair) checkPlain(url);
}

type Flat = Map<string, string>;

function lostSentence(entries: number): string {
  return (
    `the servers lost the log after entry ${entries} and all copies of it, so nobody can check any more what was ` +
    "done after it"
  );
}

function flat(value: unknown, before = "", into = new Map<string, string>()): Map<string, string> {
  for (const [name, inner] of Object.entries(value as object)) {
    const nested = typeof inner === "object" && inner !== null && !Array.isArray(inner);
    if (nested) flat(inner, `${before}${name}.`, into);
    else into.set(`${before}${name}`, JSON.stringify(inner));
  }
  return into;
}
