/** The work of a device, as functions of what they are given: the same here, in a worker and in tests. */

import type { Bytes } from "../bytes.ts";
import { Chain } from "../channel/chain.ts";
import type { FederationInfo } from "../channel/layout.ts";
import type { ChannelSettings } from "../channel/settings.ts";
import type { Tables } from "../message/codec.ts";
import { checkUpdate, type Update } from "../message/declaration.ts";
import { checkConsent, type ClientState, type History, type Phase } from "../methods/method.ts";
import { featuresOf } from "../methods/item_features.ts";
import { methodOf, type NamedMethod } from "../methods/registry.ts";
import { Rng, type Secret } from "../numerics/philox.ts";
import { topK } from "../numerics/ranking.ts";
import { circuitOf, type Claim, plainVector, provenVector } from "../proofs/claims.ts";
import { type Elements, packed } from "../proofs/field.ts";
import { ProvenUpload } from "../proofs/proven_upload.ts";
import { malformed } from "../refusals.ts";
import { nearestLikes, termReasons } from "./reasons.ts";
import type { Recommendation } from "./types.ts";

export interface TrainingRequest {
  of: NamedMethod;
  info: FederationInfo;
  phase: string;
  round: number;
  model: Tables;
  state: ClientState | null; // null: before the first round
  history: History;
  secret: Secret;
  channel: ChannelSettings;
  largest: number; // most devices in a round of this phase
  multiplier: number; // of noise
}

export interface TrainingResult {
  state: ClientState;
  update: Update;
  vector: Uint32Array | Elements; // what the shares of it add up to
  claim: Claim | null; // what is proved of it
  packed: Bytes; // as it travels where the server reads it
  shown: boolean[]; // which rows of the history it discloses
  rows: number;
}

export interface RankingRequest {
  of: NamedMethod;
  info: FederationInfo;
  round: number;
  model: Tables;
  state: ClientState | null;
  history: History;
  secret: Secret;
  k: number;
  popular: boolean; // the same list for everyone
  disclosed: number[]; // items ever sent, for what a reason says of itself
  withoutTerms: readonly string[]; // reasons that are not to count
  withoutLikes: readonly number[]; // likes that are not to count
}

/** A vector that is to be shared with a proof. */
export interface CommitRequest {
  claim: Claim;
  vector: Elements;
  secret: Uint8Array; // (32,) of this upload
}

export interface ProofRequest extends CommitRequest {
  challenge: Uint8Array;
  check: Uint8Array;
}

/** Where the work is done: in this thread, or in a worker. */
export interface Trainer {
  train(request: TrainingRequest): Promise<TrainingResult>;
  rank(request: RankingRequest): Promise<Recommendation[]>;
  /** The payload for the seed aggregator: its half, and a commitment to the other one. */
  commit(request: CommitRequest): Promise<Bytes>;
  /** The payload for the vector aggregator: the other half, and the proof for a challenge. */
  prove(request: ProofRequest): Promise<Bytes>;
}

export const here: Trainer = {
  train: async (request) => train(request),
  rank: async (request) => rank(request),
  commit,
  prove,
};

export function phaseOf(of: NamedMethod, name: string, info: FederationInfo): Phase {
  const found = methodOf(of)
    .phases(info)
    .find((one) => one.name === name);
  if (!found) throw malformed(`${of.method} has no phase '${name.slice(0, 40)}'.`);
  return found;
}

/** The algorithm's step and the device half of the channel; nothing leaves. */
export function train(request: TrainingRequest): TrainingResult {
  const { info, history, round, model, largest, multiplier } = request;
  const method = methodOf(request.of);
  const rng = new Rng(request.secret, round);
  const phase = method.phases(info).find((one) => one.name === request.phase)!;
  const before = request.state ?? method.clientInit(info, history, new Rng(request.secret));
  const { state, update } = method.clientStep({ info, phase: phase.name, round, model }, before, history, rng);
  checkConsent(phase, update, history, info.features);
  const shown = method.clientDiscloses(phase, update, history);
  const claim = claimOf(phase, request);
  if (claim) return { state, update, shown, claim, ...proven(claim, update, request.channel) };
  checkUpdate(phase.sends, update);
  const of = {
    sends: phase.sends,
    repeats: phase.repeat === null,
    longest: phase.longest,
    cohort: largest,
    multiplier,
  };
  const chain = Chain.of(request.channel, info, of);
  const vector = chain.device(update, rng, round);
  return { state, update, vector, claim, packed: chain.ring.pack(vector), shown, rows: chain.rows };
}

type OfSum = Pick<TrainingRequest, "channel" | "largest" | "multiplier">;

/** What a phase proves in such a round; null: a channel bounds it. */
export function claimOf({ claim }: Phase, { channel, largest, multiplier }: OfSum): Claim | null {
  if (!claim || claim.kind === "counts" || claim.kind === "pairs") return claim;
  const size = { bits: channel.bits, cohort: largest, multiplier };
  return channel.channel === "readable" ? null : { ...claim, size };
}

/** Whole numbers that no stage of a channel changes: the vector of a proof, or what is summed of it. */
function proven(
  claim: Claim,
  update: Update,
  channel: ChannelSettings,
): Pick<TrainingResult, "vector" | "packed" | "rows"> {
  const whole = provenVector(claim, update.own!);
  const plain = plainVector(claim, whole);
  const vector = channel.channel === "readable" ? plain : whole;
  return { vector, packed: packed(plain), rows: plain.length - 1 };
}

async function commit({ claim, vector, secret }: CommitRequest): Promise<Bytes> {
  return (await ProvenUpload.of(circuitOf(claim), vector, secret)).first;
}

async function prove({ claim, vector, secret, challenge, check }: ProofRequest): Promise<Bytes> {
  return (await ProvenUpload.of(circuitOf(claim), vector, secret)).second(challenge, check);
}

/** The k best items on offer that she does not have, the best first; ties go to the lower number. */
export function rank(request: RankingRequest): Recommendation[] {
  const { info, model, history, k, popular } = request;
  const method = methodOf(request.of);
  const left = new Set(request.withoutLikes);
  const rows = rowsWhere(history, (item) => !popular && !left.has(item));
  const own = new Set(history.item);
  const context = { info, phase: "ready", round: request.round, model };
  const rng = new Rng(request.secret, request.round);
  const state =
    request.state && !popular
      ? method.clientReady(context, request.state, rows, rng)
      : method.clientFoldIn(context, rows, rng);
  const terms = method.clientTerms(context, state, new Set(request.withoutTerms));
  const scores = terms?.scores ?? method.clientScore(context, state, rows);
  const offered = info.listed.filter((item) => !own.has(item));
  const best = topK(scores, offered, k, () => true);
  if (popular) return offered.some((item) => scores[item] !== scores[offered[0]!]) ? plain(best, scores) : [];
  if (terms) {
    const sent = new Set(request.disclosed.flatMap((item) => Array.from(featuresOf(info.features!, item))));
    return best.map((item) => ({ item, score: scores[item]!, reasons: termReasons(terms, item, offered, k, sent) }));
  }
  const alike = (item: number) => method.likeness(context, item, Array.from(rows.item));
  const reasons = (item: number) => nearestLikes(alike(item), rows.item, new Set(request.disclosed));
  return best.map((item) => ({ item, score: scores[item]!, reasons: reasons(item) }));
}

function plain(best: readonly number[], scores: ArrayLike<number>): Recommendation[] {
  return best.map((item) => ({ item, score: scores[item]!, reasons: [] }));
}

function rowsWhere(history: History, keep: (item: number) => boolean): History {
  const rows = Array.from(history.item.keys()).filter((row) => keep(history.item[row]!));
  const pick = (values: Float64Array) => Float64Array.from(rows, (row) => values[row]!);
  const time = history.time && pick(history.time);
  return {
    item: Int32Array.from(rows, (row) => history.item[row]!),
    value: pick(history.value),
    consent: pick(history.consent),
    time,
  };
}
