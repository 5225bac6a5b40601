/**
 * Normalised sums that bear noise: counts of items, then pairs over the items of the largest counts, each upload of
 * length 1. The server publishes a vector for each of these items, from the strongest directions of the noisy pairs
 * (Steck: Embarrassingly shallow autoencoders for sparse data, WWW 2019, of low rank); a device ranks with them.
 */

import type { FederationInfo } from "../channel/layout.ts";
import type { Tables } from "../message/codec.ts";
import { message, type MessageSpec, table, type Update } from "../message/declaration.ts";
import type { Rng } from "../numerics/philox.ts";
import type { WeightedClaim } from "../proofs/claims.ts";
import { RefusedError } from "../refusals.ts";
import {
  type ClientState,
  type ClientStep,
  type History,
  type Method,
  type Phase,
  phase,
  type RoundContext,
} from "./method.ts";
import { countedRows, releasedCounts, sharedItems, takesPart } from "./released_counts.ts";
import { recency, scoresOfPart } from "./pair_scores.ts";

export interface PrivateSettings {
  core_items: number;
  eigenvectors: number;
  recency: number;
  discount: number;
  value_from: number | null;
}

const FEWEST = 200; // items of the core, where there are so many
const CLIENTS_PER_ITEM = 4;
const FEW = 8; // times less than the mean: people with fewer items weigh no more in pairs

export class PrivateCooccurrence implements Method {
  readonly releasesCounts = true;
  readonly usesFeatures = false;

  private constructor(private readonly s: PrivateSettings) {}

  /** The method of these settings; refuses what it does not know. */
  static of(settings: Record<string, unknown>): PrivateCooccurrence {
    const s = settings as unknown as PrivateSettings;
    const whole = [s.core_items, s.eigenvectors].every((n) => Number.isInteger(n) && n >= 0);
    if (!whole || !(s.recency >= 0 && s.discount >= 0)) {
      throw new RefusedError("version", "the terms ask for normalised sums that this page does not know.");
    }
    return new PrivateCooccurrence(s);
  }

  phases(info: FederationInfo): Phase[] {
    const { people } = info;
    const once = { repeat: 1, fetchesModel: false, longest: 1 };
    const few = Math.max(1, Math.floor(info.interactions / (FEW * info.clients * people)));
    const counted: WeightedClaim = { kind: "weighted counts", items: info.listed, people, few };
    const each = table("counts", "item", info.items, 1, "float32", { bound: people });
    const counts = phase("counts", message([each]), { ...once, claim: counted });
    if (!this.s.eigenvectors) return [counts];
    const pairs = table("pairs", "dense", triangle(this.coreSize(info)), 1, "float32", { bound: people });
    const claim: WeightedClaim = { ...counted, kind: "weighted pairs", items: [...this.places(info).keys()] };
    return [counts, phase("pairs", message([pairs]), { ...once, follows: "counts", claim })];
  }

  publishes(info: FederationInfo): MessageSpec {
    const counts = table("counts", "item", info.items, 1, "uint32");
    if (!this.s.eigenvectors) return message([counts]);
    return message([counts, table("factors", "dense", this.coreSize(info), this.s.eigenvectors)]);
  }

  publicCounts(model: Tables): number[] | null {
    return releasedCounts(model);
  }

  /** Nothing is kept. */
  clientInit(): ClientState {
    return {};
  }

  /** 1 / sqrt(n) for each item she shares; or x x' / n over those of them that are in the core. */
  clientStep(context: RoundContext, state: ClientState, history: History, rng: Rng): ClientStep {
    const shared = sharedItems(history, rng, this.s.value_from);
    if (context.phase === "counts") {
      const values = new Float32Array(shared.length).fill(shared.length ** -0.5);
      return { state, update: { tables: { counts: { index: shared, values } }, scalars: {}, own: shared } };
    }
    const places = this.places(context.info);
    const ranks = Array.from(shared).flatMap((item) => places.get(item) ?? []);
    const values = new Float32Array(triangle(places.size));
    ranks.forEach((a, at) => {
      const row = a * places.size - (a * (a - 1)) / 2 - a;
      for (const b of ranks.slice(at)) values[row + b] = (a === b ? 1 : Math.sqrt(2)) / ranks.length;
    });
    const index = Int32Array.from(values.keys());
    return { state, update: { tables: { pairs: { index, values } }, scalars: {}, own: shared } };
  }

  clientDiscloses(of: Phase, update: Update, history: History): boolean[] {
    return countedRows(of, update, history);
  }

  clientReady(_context: RoundContext, state: ClientState): ClientState {
    return state;
  }

  clientFoldIn(): ClientState {
    return {};
  }

  /** What her items of the core say of all of it; other items follow by count. */
  clientScore({ info, model }: RoundContext, _state: ClientState, history: History): Float32Array {
    const counts = model.counts as Uint32Array;
    if (!this.s.eigenvectors || info.counts === null) return Float32Array.from(counts);
    const places = this.places(info);
    const rows = Array.from(history.item.keys()).filter((row) => takesPart(history.value[row]!, this.s.value_from));
    const z = recency(history.time ? rows.map((row) => history.time![row]!) : rows.map(() => 0), this.s.recency);
    const known = rows.flatMap((row, n) => {
      const place = places.get(history.item[row]!);
      return place === undefined ? [] : [{ place, weight: Math.fround(z[n]!) }];
    });
    if (!known.length) return Float32Array.from(counts);
    const scores = lowRankScores(model.factors as Float32Array, this.s.eigenvectors, known);
    return scoresOfPart([...places.keys()], counts, [{ share: 1, scores }], this.s.discount);
  }

  clientTerms(): null {
    return null;
  }

  /** How much each of the own items adds to the score of one. */
  likeness({ info, model }: RoundContext, item: number, own: readonly number[]): Float64Array | null {
    const places = this.places(info);
    const target = places.get(item);
    if (!this.s.eigenvectors || info.counts === null || target === undefined) return null;
    return Float64Array.from(own, (one) => {
      const place = places.get(one);
      if (place === undefined) return 0;
      return lowRankScores(model.factors as Float32Array, this.s.eigenvectors, [{ place, weight: 1 }])[target]!;
    });
  }

  /** How many items take part in pairs. */
  private coreSize(info: FederationInfo): number {
    const most = Math.max(FEWEST, Math.floor(info.clients / CLIENTS_PER_ITEM));
    return this.s.eigenvectors ? Math.min(this.s.core_items, most, info.listed.length) : 0;
  }

  /** Ascending: the items of the largest public counts, of equals those of lower number; and their places. */
  private places(info: FederationInfo): Map<number, number> {
    const counts = (item: number) => info.counts?.[item] ?? 0;
    const order = [...info.listed].sort((a, b) => counts(b) - counts(a) || a - b).slice(0, this.coreSize(info));
    return new Map(order.sort((a, b) => a - b).map((item, place) => [item, place]));
  }
}

/** How many pairs a <= b of n there are. */
function triangle(n: number): number {
  return (n * (n + 1)) / 2;
}

/** A (A' z) / (1 - |A_i|^2) of every row of A. */
function lowRankScores(A: Float32Array, rank: number, own: readonly { place: number; weight: number }[]): Float32Array {
  const taste = new Float64Array(rank);
  for (const { place, weight } of own) {
    for (let f = 0; f < rank; f++) taste[f]! += weight * A[place * rank + f]!;
  }
  return Float32Array.from({ length: A.length / rank }, (_, item) => {
    let dot = 0;
    let squares = 0;
    for (let f = 0; f < rank; f++) {
      const a = A[item * rank + f]!;
      dot += a * taste[f]!;
      squares += a * a;
    }
    return dot / (1 - squares);
  });
}
