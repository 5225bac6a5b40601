/**
 * Item-item models from two exact secure sums: how often each item occurs, then how often two of them occur
 * together, in packed counters. Recency, the discount of popularity and the blend are worked out here, with the
 * whole history; nothing of that leaves.
 */

import type { FederationInfo } from "../channel/layout.ts";
import type { Tables } from "../message/codec.ts";
import { message, type MessageSpec, table, type TableSpec, type Update } from "../message/declaration.ts";
import type { Rng } from "../numerics/philox.ts";
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
import { PackedPairs } from "./packing.ts";
import { pairScores, weightsTo } from "./pair_scores.ts";

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
  private packed: { counts: readonly number[]; pairs: PackedPairs; bounds: Uint32Array } | null = null;

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
    const pairs = this.pairPhases.map((name) =>
      phase(name, message(this.pairTables(info, name)), {
        repeat: 1,
        fetchesModel: false,
        part: 1 / this.s.parts,
        follows: "counts",
      }),
    );
    return [phase("counts", counts, { repeat: 1, fetchesModel: false }), ...pairs];
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
    const { cap } = this.s;
    const shared = sharedItems(history, rng, this.s.value_from);
    if (context.phase === "counts") {
      const counted = new Uint8Array(context.info.items);
      const some = shared.filter((_, place) => !cap || ((place + 1) * cap) % shared.length < cap); // evenly spread
      some.forEach((item) => (counted[item] = 1));
      const rows = { index: some, values: new Uint32Array(some.length).fill(1) };
      return { state: { counted }, update: { tables: { counts: rows }, scalars: {} } };
    }
    const layout = this.layout(context.info);
    if (!layout || !this.words(layout.pairs, context.phase).length)
      return { state, update: { tables: {}, scalars: {} } };
    const counted = state.counted as Uint8Array;
    const words = layout.pairs.pack(shared.filter((item) => counted[item]));
    const [start, end] = this.words(layout.pairs, context.phase).range;
    const index = Int32Array.from({ length: end - start }, (_, n) => n);
    return { state, update: { tables: { pairs: { index, values: words.slice(start, end) } }, scalars: {} } };
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

  private pairTables(info: FederationInfo, name: string): TableSpec[] {
    const layout = this.layout(info);
    if (!layout) return [];
    const {
      range: [start, end],
      length,
    } = this.words(layout.pairs, name);
    const most = layout.bounds.slice(start, end);
    return length ? [table("pairs", "dense", length, 1, "uint32", { exact: { most, of: "sum" } })] : [];
  }

  /** Which words travel in a phase. */
  private words(pairs: PackedPairs, name: string): { range: [number, number]; length: number } {
    const part = this.pairPhases.indexOf(name);
    const at = (n: number) => Math.floor((pairs.words * n) / this.s.parts);
    return { range: [at(part), at(part + 1)], length: at(part + 1) - at(part) };
  }

  private layout(info: FederationInfo): { pairs: PackedPairs; bounds: Uint32Array } | null {
    if (info.counts === null) return null;
    if (this.packed?.counts !== info.counts) {
      const pairs = new PackedPairs(info.counts, this.s.least);
      this.packed = { counts: info.counts, pairs, bounds: pairs.bounds() };
    }
    return this.packed;
  }
}

/** Ascending: the items between which there are weights, once the counts are known. */
export function weighed(s: PairSettings, counts: ArrayLike<number>): number[] {
  const every = Array.from(counts);
  const least = s.features ? 0 : s.least;
  return every.some((count) => count > 0) ? every.flatMap((count, item) => (count >= least ? [item] : [])) : [];
}
