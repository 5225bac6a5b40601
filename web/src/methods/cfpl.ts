/**
 * Anelli, Deldjoo, Di Noia, Ferrara, Narducci: FedeRank: User Controlled Feedback (ECIR 2021), and cFPL, ours.
 *
 * The server holds item vectors Q and biases b, a device its own vector p; the score is b_i + p . q_i. A visit
 * draws triples of an own item i and an item j it has not, climbs ln sigma(x_i - x_j) and sends the gradients of
 * the item rows. Every number is rounded to the setting `precision`, in the order of docs/wire.md.
 */

import type { FederationInfo } from "../channel/layout.ts";
import type { Tables } from "../message/codec.ts";
import { emptyValues, message, type MessageSpec, table, type Update, type Values } from "../message/declaration.ts";
import { Purpose, type Rng, type Stream } from "../numerics/philox.ts";
import { RefusedError } from "../refusals.ts";
import { drawTriples, type Triples } from "./triples.ts";
import {
  type ClientState,
  type ClientStep,
  heldRows,
  type History,
  type Method,
  type Phase,
  phase,
  type RoundContext,
} from "./method.ts";

export interface CfplSettings {
  factors: number;
  alpha: number;
  triples: number | "mean" | "own";
  rate_decay: number;
  version: "B" | "equations";
  fold_in: number;
  precision: "float32" | "float64";
  optimiser: string;
  warm: number;
  refresh: number;
  prior: boolean;
}

const SPREAD = 0.1;
type Vector = Float32Array | Float64Array;
type Round = (x: number) => number;

export class Cfpl implements Method {
  readonly releasesCounts = false;
  readonly usesFeatures = false;
  private readonly round: Round;

  private constructor(private readonly s: CfplSettings) {
    this.round = s.precision === "float32" ? Math.fround : (x) => x;
  }

  /** The method of these settings; refuses what it does not know. */
  static of(settings: Record<string, unknown>): Cfpl {
    const s = settings as unknown as CfplSettings;
    const known =
      Number.isInteger(s.factors) &&
      s.factors > 0 &&
      s.alpha > 0 &&
      settings.sampling === "clients" &&
      (s.triples === "own" || s.triples === "mean" || Number.isInteger(s.triples)) &&
      s.rate_decay >= 0 &&
      ["B", "equations"].includes(s.version) &&
      ["float32", "float64"].includes(s.precision) &&
      [s.warm, s.refresh, s.fold_in].every((n) => Number.isInteger(n) && n >= 0);
    if (!known) throw new RefusedError("version", "the terms ask for a form of cFPL that this page does not know.");
    return new Cfpl(s);
  }

  phases(info: FederationInfo): Phase[] {
    const width = this.s.factors + 1 + Number(this.counted);
    const train = phase("train", message([table("items", "item", info.items, width, this.s.precision)]));
    const counts = message([table("counts", "item", info.items, 1, this.s.precision, { bound: 1 })]);
    const prior = phase("prior", counts, { repeat: 1, fetchesModel: false, asks: "statistics" });
    return this.s.prior ? [prior, train] : [train];
  }

  publishes(info: FederationInfo): MessageSpec {
    const { factors, precision } = this.s;
    return message([table("Q", "item", info.items, factors, precision), table("b", "item", info.items, 1, precision)]);
  }

  publicCounts(): null {
    return null;
  }

  clientInit(_info: FederationInfo, _history: History, rng: Rng): ClientState {
    const normals = rng.stream(Purpose.INIT).normals(this.s.factors);
    return { p: this.vector(normals.map((x) => SPREAD * x)) };
  }

  clientStep(context: RoundContext, state: ClientState, history: History, rng: Rng): ClientStep {
    if (context.phase === "prior") return { state, update: this.ones(history, rng) };
    const p = this.vector(state.p as Vector);
    this.passes(context, p, history, rng.stream(Purpose.WARM), this.s.warm);
    const triples = drawTriples(context.info, history, this.visits(context.info, history), rng.stream(Purpose.TRIPLES));
    const coins = rng.stream(Purpose.COINS);
    const shared = triples.own.map((row) => coins.coin(history.consent[row]!));
    const update = this.climb(
      context.model,
      this.s.alpha / (1 + this.s.rate_decay * context.round),
      p,
      triples,
      shared,
      history,
    );
    return { state: { p }, update };
  }

  clientDiscloses(of: Phase, update: Update, history: History): boolean[] {
    return heldRows(of, update, history);
  }

  clientReady(context: RoundContext, state: ClientState, history: History, rng: Rng): ClientState {
    const p = this.vector(state.p as Vector);
    this.passes(context, p, history, rng.stream(Purpose.REFRESH), this.s.refresh);
    return { p };
  }

  clientFoldIn(context: RoundContext, history: History, rng: Rng): ClientState {
    if (!history.item.length) return { p: this.vector(new Float64Array(this.s.factors)) };
    const p = this.clientInit(context.info, history, rng).p as Vector;
    this.passes(context, p, history, rng.stream(Purpose.FOLD_IN), this.s.fold_in);
    return { p };
  }

  clientScore(context: RoundContext, state: ClientState): Float32Array | Float64Array {
    const { Q, b } = context.model as { Q: Vector; b: Vector };
    const p = state.p as Vector;
    const F = this.s.factors;
    const scores = emptyValues(this.s.precision, context.info.items) as Vector;
    for (let item = 0; item < scores.length; item++) {
      let sum = 0;
      for (let f = 0, at = item * F; f < F; f++) sum += p[f]! * Q[at + f]!;
      scores[item] = sum + b[item]!;
    }
    return scores;
  }

  clientTerms(): null {
    return null;
  }

  /** The cosine of the item vectors. */
  likeness(context: RoundContext, item: number, own: readonly number[]): Float64Array {
    const Q = context.model.Q as Vector;
    const F = this.s.factors;
    const dot = (i: number, j: number) => {
      let sum = 0;
      for (let f = 0; f < F; f++) sum += Q[i * F + f]! * Q[j * F + f]!;
      return sum;
    };
    return Float64Array.from(own, (i) => dot(i, item) / (Math.sqrt(dot(i, i) * dot(item, item)) || 1));
  }

  private get counted(): boolean {
    return this.s.optimiser === "per-contributor";
  }

  private vector(values: Vector): Vector {
    return this.s.precision === "float32" ? Float32Array.from(values) : Float64Array.from(values);
  }

  private visits(info: FederationInfo, history: History): number {
    if (this.s.triples === "own") return history.item.length;
    return this.s.triples === "mean" ? Math.max(1, Math.floor(info.interactions / info.clients)) : this.s.triples;
  }

  private ones(history: History, rng: Rng): Update {
    const coins = rng.stream(Purpose.COINS);
    const shared = history.item.filter((_, row) => coins.coin(history.consent[row]!));
    const values = emptyValues(this.s.precision, shared.length).fill(1) as Values;
    return { tables: { counts: { index: shared, values } }, scalars: {} };
  }

  /** p after so many times |I_u| triples over a model that stays as it is. */
  private passes(context: RoundContext, p: Vector, history: History, stream: Stream, times: number): void {
    const { own, other } = drawTriples(context.info, history, times * history.item.length, stream);
    const { Q } = context.model as { Q: Vector };
    const r = this.round;
    const alpha = r(this.s.alpha);
    const lambda = r(this.s.alpha / 20);
    const F = this.s.factors;
    own.forEach((row, t) => {
      const i = history.item[row]! * F;
      const j = other[t]! * F;
      const g = this.slope(context.model, p, history.item[row]!, other[t]!);
      for (let f = 0; f < F; f++) {
        const step = r(r(g * r(Q[i + f]! - Q[j + f]!)) - r(lambda * p[f]!));
        p[f] = r(p[f]! + r(alpha * step));
      }
    });
  }

  /** Rows that leave, added up; p moves on. All gradients of a triple are at the p before it. */
  private climb(
    model: Tables,
    rate: number,
    p: Vector,
    triples: Triples,
    shared: readonly boolean[],
    history: History,
  ): Update {
    const r = this.round;
    const F = this.s.factors;
    const Q = model.Q as Vector;
    const sum = new RowSum(F + 1 + Number(this.counted), this.s.precision);
    const alpha = r(rate);
    const own = r(this.s.alpha / 20);
    const negative = r(this.s.alpha / 200);
    const before = this.s.version === "equations" ? this.vector(p) : p;
    const row = new Float64Array(F + 1);
    triples.own.forEach((place, t) => {
      const i = history.item[place]!;
      const j = triples.other[t]!;
      const g = this.slope(model, before, i, j);
      if (shared[t]) {
        for (let f = 0; f < F; f++) row[f] = r(r(g * before[f]!) - r(own * Q[i * F + f]!));
        row[F] = g;
        sum.add(i, row, r);
      }
      for (let f = 0; f < F; f++) row[f] = r(r(-g * before[f]!) - r(negative * Q[j * F + f]!));
      row[F] = -g;
      sum.add(j, row, r);
      const held = before === p ? null : before;
      for (let f = 0; f < F; f++) {
        const step = r(r(g * r(Q[i * F + f]! - Q[j * F + f]!)) - r(own * (held ?? p)[f]!));
        p[f] = r(p[f]! + r(alpha * step));
      }
    });
    return { tables: { items: sum.rows() }, scalars: {} };
  }

  /** sigma(x_j - x_i), added up from the left. */
  private slope(model: Tables, p: Vector, i: number, j: number): number {
    const Q = model.Q as Vector;
    const b = model.b as Vector;
    const r = this.round;
    const F = this.s.factors;
    let first = 0;
    let second = 0;
    for (let f = 0; f < F; f++) {
      first = r(first + r(p[f]! * Q[i * F + f]!));
      second = r(second + r(p[f]! * Q[j * F + f]!));
    }
    const x = r(r(r(b[i]! + first) - b[j]!) - second);
    return r(1 / r(1 + r(Math.exp(x))));
  }
}

/** Rows of one item are added up in the order they came, beginning with 0. */
class RowSum {
  private readonly sums = new Map<number, Float64Array>();

  constructor(
    private readonly width: number,
    private readonly precision: "float32" | "float64",
  ) {}

  add(item: number, row: Float64Array, r: Round): void {
    let sum = this.sums.get(item);
    if (!sum) this.sums.set(item, (sum = new Float64Array(this.width).fill(1, row.length)));
    for (let f = 0; f < row.length; f++) sum[f] = r(sum[f]! + row[f]!);
  }

  rows(): { index: Int32Array; values: Values } {
    const index = Int32Array.from(this.sums.keys()).sort();
    const values = emptyValues(this.precision, index.length * this.width);
    index.forEach((item, n) => values.set(this.sums.get(item)!, n * this.width));
    return { index, values };
  }
}
