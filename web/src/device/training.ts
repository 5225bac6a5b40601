/** The work of a device, as functions of what they are given: the same here, in a worker and in tests. */

import { Chain } from "../channel/chain.ts";
import type { FederationInfo } from "../channel/layout.ts";
import type { ChannelSettings } from "../channel/settings.ts";
import type { Tables } from "../message/codec.ts";
import { checkUpdate, type Update } from "../message/declaration.ts";
import { checkConsent, type ClientState, type History, type Phase } from "../methods/method.ts";
import { methodOf, type NamedMethod } from "../methods/registry.ts";
import { Rng, type Secret } from "../numerics/philox.ts";
import { topK } from "../numerics/ranking.ts";
import { malformed } from "../refusals.ts";
import type { Reason, Recommendation } from "./types.ts";

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
  vector: Uint32Array;
  packed: Uint8Array; // the vector as it travels
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
}

/** Where the work is done: in this thread, or in a worker. */
export interface Trainer {
  train(request: TrainingRequest): Promise<TrainingResult>;
  rank(request: RankingRequest): Promise<Recommendation[]>;
}

export const here: Trainer = {
  train: async (request) => train(request),
  rank: async (request) => rank(request),
};

export function phaseOf(of: NamedMethod, name: string, info: FederationInfo): Phase {
  const found = methodOf(of).phases(info).find((one) => one.name === name);
  if (!found) throw malformed(`${of.method} has no phase '${name.slice(0, 40)}'.`);
  return found;
}

/** The algorithm's step and the device half of the channel; nothing leaves. */
export function train(request: TrainingRequest): TrainingResult {
  const { info, history, round, model, largest, multiplier } = request;
  const method = methodOf(request.of), rng = new Rng(request.secret, round);
  const phase = method.phases(info).find((one) => one.name === request.phase)!;
  const before = request.state ?? method.clientInit(info, history, new Rng(request.secret));
  const { state, update } = method.clientStep({ info, phase: phase.name, round, model }, before, history, rng);
  checkUpdate(phase.sends, update);
  checkConsent(phase, update, history);
  const of = { sends: phase.sends, repeats: phase.repeat === null, longest: phase.longest, cohort: largest, multiplier };
  const chain = Chain.of(request.channel, info, of), vector = chain.device(update, rng, round);
  const shown = method.clientDiscloses(phase, update, history);
  return { state, update, vector, packed: chain.ring.pack(vector), shown, rows: chain.rows };
}

/** The k best items on offer that she does not have, the best first; ties go to the lower number. */
export function rank(request: RankingRequest): Recommendation[] {
  const { info, model, history, k, popular } = request, method = methodOf(request.of);
  const nobody: History = { item: new Int32Array(), value: new Float64Array(), consent: new Float64Array(), time: null };
  const rows = popular ? nobody : history;
  const context = { info, phase: "ready", round: request.round, model }, rng = new Rng(request.secret, request.round);
  const state = request.state && !popular
    ? method.clientReady(context, request.state, rows, rng)
    : method.clientFoldIn(context, rows, rng);
  const scores = method.clientScore(context, state, rows), own = new Set(history.item);
  const best = topK(scores, info.listed, k, (item) => !own.has(item));
  if (popular) return best.map((item) => ({ item, score: scores[item]!, reasons: [] }));
  const disclosed = new Set(request.disclosed);
  const reasons = (item: number): Reason[] => {
    const likes = Array.from(history.item), alike = method.likeness(context, item, likes);
    if (!alike) return [];
    const nearest = topK(alike, [...likes.keys()], 3, (place) => alike[place]! > 0);
    return nearest.map((place) => ({
      kind: "similar", item: likes[place]!, label: "", weight: alike[place]!, local: !disclosed.has(likes[place]!),
    }));
  };
  return best.map((item) => ({ item, score: scores[item]!, reasons: reasons(item) }));
}
