/**
 * KGFlex: Anelli, Di Noia, Di Sciascio, Ferrara, Mancino: Sparse feature factorization for recommender systems with
 * knowledge graphs (RecSys 2021); chapter 6 of A. Ferrara's thesis.
 *
 * The server holds a vector g_f and a bias b_f of every feature, a device its own view p_f of the features its owner
 * decides by, each with its information gain k_f. A score is a sum over features: k_f (p_f . g_f + b_f). What leaves is
 * of features that shared items have, and of pairs whose own item is shared, alone.
 */

import type { FederationInfo } from "../channel/layout.ts";
import { emptyValues, message, type MessageSpec, table, type Update } from "../message/declaration.ts";
import { Purpose, type Rng, type Stream } from "../numerics/philox.ts";
import { malformed, RefusedError } from "../refusals.ts";
import { drawNegatives, gain, LEAST, type Measure } from "./gain.ts";
import { featuresOf, hopsOf, type ItemFeatures, readableNames } from "./item_features.ts";
import {
  type ClientState,
  type ClientStep,
  type History,
  type Method,
  type Phase,
  phase,
  type RoundContext,
  type ScoreTerms,
} from "./method.ts";
import { drawTriples, type Triples } from "./triples.ts";

export interface KgflexSettings {
  factors: number;
  alpha: number;
  first_limit: number;
  second_limit: number;
  unshared: "drop" | "keep";
  fold_in: number;
  precision: "float32" | "float64";
  measure: Measure;
  least: number;
  negatives: number;
  drawn: "uniform" | "popular";
  visit: "sum" | "root" | "mean";
  clip_update: number | null;
  optimiser: string;
  reg?: number;
}

const SPREAD = 0.1;
const POWER = { sum: 0, root: 0.5, mean: 1 };
type Vector = Float32Array | Float64Array;

/** What a device keeps: its features in order, with their gains and its view of each. */
interface Views {
  feature: Int32Array;
  k: Vector;
  P: Vector; // row after row
}

export class Kgflex implements Method {
  readonly releasesCounts = false;
  readonly usesFeatures = true;

  private constructor(private readonly s: KgflexSettings) {}

  static of(settings: Record<string, unknown>): Kgflex {
    const s = settings as unknown as KgflexSettings;
    const whole = [s.factors, s.first_limit, s.second_limit, s.fold_in, s.negatives].every(
      (n) => Number.isInteger(n) && n >= 0,
    );
    const known =
      whole &&
      s.factors > 0 &&
      s.negatives > 0 &&
      s.alpha > 0 &&
      s.least >= 0 &&
      ["drop", "keep"].includes(s.unshared) &&
      ["float32", "float64"].includes(s.precision) &&
      ["information-gain", "gain-ratio", "gini"].includes(s.measure) &&
      ["uniform", "popular"].includes(s.drawn) &&
      Object.hasOwn(POWER, s.visit) &&
      (s.clip_update === null || s.clip_update > 0) &&
      !s.reg; // no device here pulls towards 0
    if (!known) throw new RefusedError("version", "the terms ask for a form of KGFlex that this page does not know.");
    return new Kgflex(s);
  }

  phases(info: FederationInfo): Phase[] {
    const width = this.s.factors + 1 + Number(this.counted);
    return [phase("train", message([table("features", "feature", info.featureCount ?? 0, width, this.s.precision)]))];
  }

  publishes(info: FederationInfo): MessageSpec {
    const { factors, precision } = this.s;
    const rows = info.featureCount ?? 0;
    return message([table("G", "feature", rows, factors, precision), table("b", "feature", rows, 1, precision)]);
  }

  publicCounts(): null {
    return null;
  }

  clientInit(info: FederationInfo, history: History, rng: Rng): ClientState {
    const { feature, k } = this.informative(info, history, rng.stream(Purpose.GAIN));
    const P = rng
      .stream(Purpose.INIT)
      .normals(feature.length * this.s.factors)
      .map((x) => SPREAD * x);
    return { feature, k: this.vector(k), P: this.vector(P) };
  }

  clientStep(context: RoundContext, state: ClientState, history: History, rng: Rng): ClientStep {
    const views = state as unknown as Views;
    const { info } = context;
    const features = known(info);
    const F = this.s.factors;
    const coins = rng.stream(Purpose.COINS);
    const shared = Array.from(history.consent, (share) => coins.coin(share));
    const leaving = new Set<number>();
    history.item.forEach((item, row) => {
      if (shared[row]) featuresOf(features, item).forEach((f) => leaving.add(f));
    });
    const triples = drawTriples(info, history, history.item.length, rng.stream(Purpose.TRIPLES));
    const { c, sent, touched } = this.climb(context, views, history.item, triples, shared);
    const places = Array.from(views.feature.keys()).filter((at) => touched[at] && leaving.has(views.feature[at]!));
    places.sort((a, b) => views.feature[a]! - views.feature[b]!);
    const rows = places.map((at) => {
      const p = views.P.subarray(at * F, (at + 1) * F); // eq. (6.14): k p_f and k
      return [...Array.from(p, (x) => sent[at]! * x), sent[at]!];
    });
    const index = Int32Array.from(places, (at) => views.feature[at]!);
    const update: Update = { tables: { features: { index, values: this.packedRows(rows) } }, scalars: {} };
    return { state: { ...state, P: this.moved(context, views, c) }, update };
  }

  /** Every shared row, as soon as anything leaves: their features decide what may. */
  clientDiscloses(_of: Phase, update: Update, history: History): boolean[] {
    const any = update.tables.features!.index.length > 0;
    return Array.from(history.consent, (share) => any && share > 0);
  }

  clientReady(_context: RoundContext, state: ClientState): ClientState {
    return state;
  }

  clientFoldIn(context: RoundContext, history: History, rng: Rng): ClientState {
    const stream = rng.stream(Purpose.FOLD_IN);
    const nothing = Array.from(history.item, () => false);
    let state = this.clientInit(context.info, history, rng);
    for (let visit = 0; visit < this.s.fold_in; visit++) {
      const views = state as unknown as Views;
      const triples = drawTriples(context.info, history, history.item.length, stream);
      state = { ...state, P: this.moved(context, views, this.climb(context, views, history.item, triples, nothing).c) };
    }
    return state;
  }

  clientScore(context: RoundContext, state: ClientState): Float64Array {
    return this.clientTerms(context, state).scores;
  }

  /** Equation (6.12), feature by feature: the terms are the score. */
  clientTerms(context: RoundContext, state: ClientState, without: ReadonlySet<string> = new Set()): ScoreTerms {
    const views = state as unknown as Views;
    const features = known(context.info);
    const names = readableNames(features.labels);
    const value = this.terms(context, views);
    const scores = new Float64Array(context.info.items);
    const places = new Map(Array.from(views.feature, (f, at) => [f, at]));
    const items: [number, number][][] = [];
    for (let item = 0; item < context.info.items; item++) {
      const own: [number, number][] = [];
      for (const f of featuresOf(features, item)) {
        const at = places.get(f);
        if (at !== undefined && !without.has(names[f]!)) own.push([at, value[at]!]);
      }
      own.sort(([a], [b]) => a - b);
      items.push(own);
      for (const [, term] of own) scores[item]! += term;
    }
    const gains = Float64Array.from(views.k);
    const { feature } = views;
    return { names: Array.from(feature, (f) => names[f]!), feature, gains, items, scores };
  }

  likeness(): null {
    return null; // its terms say more
  }

  private get counted(): boolean {
    return this.s.optimiser === "per-contributor";
  }

  private vector(values: ArrayLike<number>): Vector {
    return this.s.precision === "float32" ? Float32Array.from(values) : Float64Array.from(values);
  }

  /** F_u and k_f: the features of her items that tell most about her choices, the best first. */
  private informative(info: FederationInfo, history: History, stream: Stream): { feature: Int32Array; k: number[] } {
    const own = history.item;
    const features = known(info);
    const half = this.s.negatives * own.length;
    const negatives = drawNegatives(info, own, half, this.s.drawn === "popular", stream);
    if (!negatives.length) return { feature: new Int32Array(), k: [] };
    const p = counted(features, own);
    const n = counted(features, negatives);
    const found = [...p].map(([f, times]) => ({
      f,
      k: gain(this.s.measure, this.s.negatives * times, n.get(f) ?? 0, half),
      far: hopsOf(features.labels[f]!) > 1,
    }));
    const best = found.filter(({ k }) => k > this.s.least + LEAST).sort((a, b) => b.k - a.k || a.f - b.f);
    const near = best.filter(({ far }) => !far).slice(0, this.s.first_limit);
    const chosen = [...near, ...best.filter(({ far }) => far).slice(0, this.s.second_limit)];
    return { feature: Int32Array.from(chosen, ({ f }) => f), k: chosen.map(({ k }) => k) };
  }

  /**
   * Over all pairs the sum of g k_f, + for features of i, - for those of j; then of shared pairs alone, and which
   * features these have. g is 1 - sigma(x_i - x_j), all at the model as it was received.
   */
  private climb(
    context: RoundContext,
    views: Views,
    own: Int32Array,
    triples: Triples,
    shared: readonly boolean[],
  ): { c: Float64Array; sent: Float64Array; touched: Uint8Array } {
    const features = known(context.info);
    const value = this.terms(context, views);
    const m = value.length;
    const places = new Map(Array.from(views.feature, (f, at) => [f, at]));
    const slots = (item: number) => Array.from(featuresOf(features, item)).flatMap((f) => places.get(f) ?? []);
    const c = new Float64Array(m);
    const sent = new Float64Array(m);
    const touched = new Uint8Array(m);
    triples.own.forEach((row, t) => {
      const mine = slots(own[row]!);
      const other = slots(triples.other[t]!);
      if (this.s.unshared === "drop" && !(mine.length && other.length)) return;
      const x = sum(mine, value) - sum(other, value);
      const g = 1 / (1 + Math.exp(Math.min(x, 700)));
      for (const [held, sign] of [
        [mine, g],
        [other, -g],
      ] as const) {
        for (const at of held) {
          c[at]! += sign * views.k[at]!;
          if (!shared[row]) continue;
          sent[at]! += sign * views.k[at]!;
          touched[at] = 1;
        }
      }
    });
    const scale = Math.max(triples.own.length, 1) ** -POWER[this.s.visit];
    return { c: c.map((x) => x * scale), sent: sent.map((x) => x * scale), touched };
  }

  /** k_f (p_f . g_f + b_f) of each of her features. */
  private terms({ model }: RoundContext, { feature, k, P }: Views): Float64Array {
    const F = this.s.factors;
    const G = model.G as Vector;
    const b = model.b as Vector;
    return Float64Array.from(feature, (f, at) => {
      let dot = 0;
      for (let n = 0; n < F; n++) dot += P[at * F + n]! * G[f * F + n]!;
      return k[at]! * (dot + b[f]!);
    });
  }

  /** p_f + alpha c_f g_f. */
  private moved({ model }: RoundContext, { feature, P }: Views, c: Float64Array): Vector {
    const F = this.s.factors;
    const G = model.G as Vector;
    const after = this.vector(P);
    feature.forEach((f, at) => {
      for (let n = 0; n < F; n++) after[at * F + n] = P[at * F + n]! + this.s.alpha * c[at]! * G[f * F + n]!;
    });
    return after;
  }

  /** Gradients in precision, shortened where one visit may add so much, with a count where the optimiser needs it. */
  private packedRows(rows: readonly number[][]): Vector {
    const values = this.vector(rows.flat());
    const { clip_update: clip } = this.s;
    if (clip !== null && values.length) {
      const squares = Array.from(values).reduce((total, x) => total + x * x, 0);
      const factor = Math.min(1, clip / Math.max(Math.sqrt(squares), 1e-300));
      values.forEach((x, n) => (values[n] = x * (this.s.precision === "float32" ? Math.fround(factor) : factor)));
    }
    if (!this.counted) return values;
    const width = this.s.factors + 2;
    const wide = emptyValues(this.s.precision, rows.length * width).fill(1) as Vector;
    rows.forEach((_, n) => wide.set(values.subarray(n * (width - 1), (n + 1) * (width - 1)), n * width));
    return wide;
  }
}

/** How often each feature occurs among these items, by ascending feature. */
function counted(features: ItemFeatures, items: Iterable<number>): Map<number, number> {
  const times = new Map<number, number>();
  for (const item of items) for (const f of featuresOf(features, item)) times.set(f, (times.get(f) ?? 0) + 1);
  return times;
}

function sum(places: readonly number[], value: Float64Array): number {
  return places.reduce((total, at) => total + value[at]!, 0);
}

function known(info: FederationInfo): ItemFeatures {
  if (!info.features) throw malformed("this method needs features of the items, but the federation names none.");
  return info.features;
}
