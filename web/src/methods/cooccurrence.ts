/**
 * Item-item models from two exact secure sums: how often each item occurs, then how often two of them occur
 * together. Both are proved: bits, and all pairs of those bits. Recency, the discount of popularity and the blend are worked out here, with the
 * whole history; nothing of that leaves.
 */

import type { FederationInfo } from "../channel/layout.ts";
import type { Tables } from "../message/codec.ts";
import { message, type MessageSpec, table, type Update } from "../message/declaration.ts";
import type { Rng } from "../numerics/philox.ts";
import type { CountsClaim, PairsClaim } from "../proofs/claims.ts";
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
import { pairScores, weightsTo } from "./pair_scores.ts";
import { RankedItems } from "./ranked_items.ts";

export interface PairSettings {
  ease: number;
  knn: number;
  order: number;
  features: number;
  k: number;
  least: number;
  parts: number;
  cap: number; // items of one person at most; 0: all
  recency: number;
  discount: number;
  value_from: number | null;
}

export class Cooccurrence implements Method {
  readonly releasesCounts = true;
  readonly usesFeatures = false; // the server's weights know them
  private ranking: { counts: readonly number[]; ranked: RankedItems } | null = null;

  private constructor(private readonly s: PairSettings) {}

  /** The method of these settings; refuses what it does not know. */
  static of(settings: Record<string, unknown>): Cooccurrence {
    const s = settings as unknown as PairSettings;
    const whole = [s.k, s.least, s.parts].every((n) => Number.isInteger(n) && n > 0);
    const shares = [s.ease, s.knn, s.order, s.features, s.recency, s.discount, s.cap].every((x) => x >= 0);
    if (!whole || !shares || s.order !== 0 || !(s.ease || s.knn)) {
      throw new RefusedError("version", "the terms ask for sums of co-occurrences that this page does not know.");
    }
    return new Cooccurrence(s);
  }

  phases(info: FederationInfo): Phase[] {
    const exact = { exact: { most: info.people, of: "device" as const } };
    const counts = message([table("counts", "item", info.items, 1, "uint32", exact)]);
    const pairs = this.pairPhases.map((name, part) => this.pairPhase(info, name, part));
    return [phase("counts", counts, { repeat: 1, fetchesModel: false, claim: this.countsClaim(info) }), ...pairs];
  }

  publishes(info: FederationInfo): MessageSpec {
    const n = info.counts === null ? 0 : weighed(this.s, info.counts).length;
    const k = Math.min(this.s.k, n - 1);
    const counts = table("counts", "item", info.items, 1, "uint32");
    if (n < 2) return message([counts]);
    const ease = this.s.ease ? [table("ease", "dense", n, n)] : [];
    const knn = this.s.knn ? [table("neighbours", "dense", n, k, "uint32"), table("similarity", "dense", n, k)] : [];
    return message([counts, ...ease, ...knn, table("exposed", "dense", 1, 1, "uint32")]);
  }

  publicCounts(model: Tables): number[] | null {
    return releasedCounts(model);
  }

  /** No item was counted yet: one byte for each. */
  clientInit(info: FederationInfo): ClientState {
    return { counted: new Uint8Array(info.items) };
  }

  clientStep(context: RoundContext, state: ClientState, history: History, rng: Rng): ClientStep {
    const shared = sharedItems(history, rng, this.s.value_from);
    if (context.phase === "counts") {
      const counted = new Uint8Array(context.info.items);
      const some = evenly(shared, this.s.cap);
      some.forEach((item) => (counted[item] = 1));
      return { state: { counted }, update: { tables: {}, scalars: {}, own: some } };
    }
    const counted = state.counted as Uint8Array; // the same ones while they are shared, whatever was added since
    return { state, update: { tables: {}, scalars: {}, own: shared.filter((item) => counted[item]) } };
  }

  clientDiscloses(of: Phase, update: Update, history: History): boolean[] {
    return countedRows(of, update, history);
  }

  clientReady(_context: RoundContext, state: ClientState): ClientState {
    return state;
  }

  clientFoldIn(context: RoundContext): ClientState {
    return this.clientInit(context.info);
  }

  clientScore(context: RoundContext, _state: ClientState, history: History): Float32Array {
    const rows = Array.from(history.value.keys()).filter((row) => takesPart(history.value[row]!, this.s.value_from));
    const own = rows.map((row) => history.item[row]!);
    const time = history.time && rows.map((row) => history.time![row]!);
    return pairScores(this.s, context.model, own, time);
  }

  clientTerms(): null {
    return null;
  }

  /** The weights between them, as the scores use them. */
  likeness(context: RoundContext, item: number, own: readonly number[]): Float64Array | null {
    return weightsTo(this.s, context.model, item, own);
  }

  private get pairPhases(): string[] {
    return this.s.parts > 1 ? Array.from({ length: this.s.parts }, (_, n) => `pairs-${n + 1}`) : ["pairs"];
  }

  /** A part of the pairs; what it holds is known once the counts are public. */
  private pairPhase(info: FederationInfo, name: string, part: number): Phase {
    const asked = { repeat: 1, fetchesModel: false, part: 1 / this.s.parts, follows: "counts" };
    const ranked = this.ranked(info);
    if (!ranked || ranked.items.length < 2) return phase(name, message([]), asked);
    const rows = ranked.pairs.rowsOf(part, this.s.parts);
    const [start, end] = ranked.pairs.wordsOf(rows);
    if (end === start) return phase(name, message([]), asked);
    const places = new Map(info.listed.map((item, place) => [item, place]));
    const claim: PairsClaim = {
      kind: "pairs",
      counted: this.countsClaim(info),
      ranked: ranked.items.map((item) => places.get(item)!),
      bounds: ranked.bounds,
      rows: this.s.parts > 1 ? rows : null,
    };
    return phase(name, message([table("pairs", "dense", end - start, 1, "uint64")]), { ...asked, claim });
  }

  /** Of each person at most `cap` items. */
  private countsClaim({ listed, people }: FederationInfo): CountsClaim {
    return { kind: "counts", items: listed, people, cap: Math.min(this.s.cap || listed.length, listed.length) };
  }

  private ranked({ counts }: FederationInfo): RankedItems | null {
    if (counts === null) return null;
    if (this.ranking?.counts !== counts) this.ranking = { counts, ranked: new RankedItems(counts, this.s.least) };
    return this.ranking.ranked;
  }
}

/** At most so many of them, evenly spread; 0: all. */
function evenly(items: Int32Array, cap: number): Int32Array {
  return items.filter((_, place) => !cap || ((place + 1) * cap) % items.length < cap);
}

/** Ascending: the items between which there are weights, once the counts are known. */
export function weighed(s: PairSettings, counts: ArrayLike<number>): number[] {
  const every = Array.from(counts);
  const least = s.features ? 0 : s.least;
  return every.some((count) => count > 0) ? every.flatMap((count, item) => (count >= least ? [item] : [])) : [];
}
