/** A federated method as a device needs it: pure functions, the same words as the Python contract. */

import type { FederationInfo } from "../channel/layout.ts";
import type { Tables } from "../message/codec.ts";
import type { MessageSpec, Update } from "../message/declaration.ts";
import { featuresOf, type ItemFeatures } from "./item_features.ts";
import type { Rng } from "../numerics/philox.ts";
import type { Claim } from "../proofs/claims.ts";
import { DeviceError } from "../device/types.ts";

/** One kind of exchange. */
export interface Phase {
  name: string;
  sends: MessageSpec;
  repeat: number | null; // null: part of the training round
  fetchesModel: boolean;
  asks: "training" | "statistics";
  part: number; // of the devices that would be called
  follows: string; // the phase in which a device must have been counted
  longest: number | null; // no update of it is longer in L2
  claim: Claim | null; // what each upload is proved to be in a secure sum; null: a channel bounds it
}

/** Every row the device holds of items on offer, ascending by item. */
export interface History {
  item: Int32Array;
  value: Float64Array;
  consent: Float64Array; // in [0, 1]: the coin to flip at each use of the row
  time: Float64Array | null; // seconds since 1970
}

/** What the server tells a device in a round. */
export interface RoundContext {
  info: FederationInfo;
  phase: string;
  round: number;
  model: Tables; // empty in a phase that needs nothing of it
}

export type ClientState = Record<string, Float32Array | Float64Array | Uint8Array | Int32Array>;

/** What scores are sums of: the terms of every item, by their place among the names. */
export interface ScoreTerms {
  names: string[]; // what a person reads
  feature: Int32Array; // the number of each
  gains: Float64Array; // how much each tells about what she chooses
  items: [place: number, term: number][][];
  scores: Float64Array;
}

export interface ClientStep {
  state: ClientState;
  update: Update;
}

export interface Method {
  readonly releasesCounts: boolean; // whether a phase of it makes the counts of items public
  readonly usesFeatures: boolean; // whether a device needs to know the features of the items
  phases(info: FederationInfo): Phase[];
  publishes(info: FederationInfo): MessageSpec;
  /** How often each item occurs, once a phase has made it public. */
  publicCounts(model: Tables): number[] | null;
  clientInit(info: FederationInfo, history: History, rng: Rng): ClientState;
  clientStep(context: RoundContext, state: ClientState, history: History, rng: Rng): ClientStep;
  /** Which rows of the history an update shows as positives. */
  clientDiscloses(phase: Phase, update: Update, history: History): boolean[];
  /** What a device does with the newest model before it ranks; nothing leaves. */
  clientReady(context: RoundContext, state: ClientState, history: History, rng: Rng): ClientState;
  /** The state of someone unknown in training, from the model as it stands. */
  clientFoldIn(context: RoundContext, history: History, rng: Rng): ClientState;
  /** The scores of all items. */
  clientScore(context: RoundContext, state: ClientState, history: History): Float32Array | Float64Array;
  /** The terms that add up to the scores, without those of these names; null: the scores are no sums. */
  clientTerms(context: RoundContext, state: ClientState, without: ReadonlySet<string>): ScoreTerms | null;
  /** How alike an item and the own ones are, for "similar to"; null: nothing true can be said. */
  likeness(context: RoundContext, item: number, own: readonly number[]): Float64Array | null;
}

export function phase(name: string, sends: MessageSpec, more: Partial<Phase> = {}): Phase {
  return {
    name,
    sends,
    repeat: null,
    fetchesModel: true,
    asks: "training",
    part: 1,
    follows: "",
    longest: null,
    claim: null,
    ...more,
  };
}

/** By default the rows of which an item table of the update holds one. */
export function heldRows(of: Phase, update: Update, history: History): boolean[] {
  const held = new Set<number>();
  for (const one of of.sends.tables) {
    if (one.space === "item") update.tables[one.name]!.index.forEach((row) => held.add(row));
  }
  return Array.from(history.item, (item) => held.has(item));
}

/** Refuse an update with a row of an item not shared, or of a feature that no shared item has. */
export function checkConsent(of: Phase, update: Update, history: History, features?: ItemFeatures): void {
  const open = new Set(
    features &&
      Array.from(history.item).flatMap((item, row) =>
        history.consent[row]! > 0 ? Array.from(featuresOf(features, item)) : [],
      ),
  );
  const unshared = new Set(history.item.filter((_, row) => history.consent[row] === 0));
  if (update.own?.some((item) => unshared.has(item))) {
    throw new DeviceError("what is proved must not hold an item its owner does not share, but does.");
  }
  for (const one of of.sends.tables) {
    if (one.space === "feature" && update.tables[one.name]!.index.some((row) => !open.has(row))) {
      throw new DeviceError(`the table '${one.name}' must hold features of shared items alone, but holds others.`);
    }
    if (one.space === "item" && update.tables[one.name]?.index.some((row) => unshared.has(row))) {
      throw new DeviceError(
        `the table '${one.name}' must not hold a row of an item its owner does not share, but does.`,
      );
    }
  }
}
