/**
 * The device half of the channel of one phase: layout, clip of the length, clip of every number, fixed point
 * with stochastic rounding, ring (docs/channel.md). Exact tables go from the layout to the ring as they are.
 */

import { DeviceError } from "../device/types.ts";
import type { MessageSpec, TableSpec, Update } from "../message/declaration.ts";
import { Purpose, type Rng } from "../numerics/philox.ts";
import { type FederationInfo, type SparseVector, VectorLayout } from "./layout.ts";
import { Ring } from "./ring.ts";
import type { ChannelSettings } from "./settings.ts";

const FEWEST_BITS = 8; // of a table that declares its bound, when a large cohort leaves it fewer than `bits`
const LEAST_NOISE = 16;
const LARGEST_NOISE = 2 ** 13; // steps: what the aggregators can draw
const FARTHEST = 17; // sigma: the noise of two aggregators in one number is not farther from 0

export interface ChainOf {
  sends: MessageSpec;
  repeats: boolean; // part of the training round
  longest: number | null; // what the method promises no update is longer than
  cohort: number; // no more devices than this in one sum
  multiplier: number; // of the noise each aggregator adds, over the clip; 0: none
}

export class Chain {
  private constructor(
    readonly layout: VectorLayout,
    readonly ring: Ring,
    private readonly clip: number,
    private readonly bounds: Float64Array, // (words,)
    private readonly steps: Float64Array, // (words,)
    private readonly exact: Uint8Array, // (words,) what crosses untouched
    private readonly noisy: boolean,
  ) {}

  /** The channel of a phase; refuses what could overflow. */
  static of(settings: ChannelSettings, info: FederationInfo, of: ChainOf): Chain {
    const clip = Math.min(settings.clip, of.longest ?? settings.clip);
    const own = { ...settings, clip };
    const layout = VectorLayout.of(own, of.sends, of.repeats, info);
    const bounds = new Float64Array(layout.words).fill(clip);
    const exact = new Uint8Array(layout.words);
    const limits = new Float64Array(layout.words).fill(limit(own.bits, clip, clip, of.multiplier));
    bounds[0] = limits[0] = 1;
    for (const { table, start, end } of layout.slices()) {
      const bound = table.exact ? 1 : largest(own, table);
      bounds.fill(bound, start, end);
      limits.fill(table.exact ? 1 : limit(bits(own, table, of.cohort), bound, clip, of.multiplier), start, end);
      if (table.exact) {
        exact.fill(1, start, end);
        checkFits(table, own.ring, of.cohort);
      }
    }
    const steps = bounds.map((bound, n) => bound / limits[n]!);
    const sigma = noiseSteps(steps.subarray(1), of.multiplier * clip);
    const most = limits.reduce((a, b) => Math.max(a, b), 1);
    if (of.cohort > Math.floor((2 ** (own.ring - 1) - 1 - FARTHEST * sigma) / most)) {
      throw new DeviceError(`a sum of ${of.cohort} devices must fit a ring of ${own.ring} bits, but could overflow.`);
    }
    const ring = new Ring(own.ring, layout.words);
    return new Chain(layout, ring, clip, bounds, steps, exact, of.multiplier > 0);
  }

  /** The rows in one message, the same for everyone. */
  get rows(): number {
    return this.layout.sends.tables.reduce((sum, one) => sum + this.layout.rows(one), 0);
  }

  /** The vector of one device, to be split into shares before it leaves. */
  device(update: Update, rng: Rng, round: number): Uint32Array {
    const sent = this.layout.device(update, round);
    const vector = new Uint32Array(this.ring.words);
    vector[0] = 1;
    const rounded: SparseVector = { place: [], value: [] };
    sent.place.forEach((place, n) => {
      if (this.exact[place]) {
        vector[place] = sent.value[n]!;
        return;
      }
      rounded.place.push(place);
      rounded.value.push(sent.value[n]!);
    });
    this.fixedPoint(this.clipped(rounded), rng).forEach((value, n) => {
      vector[rounded.place[n]!] = this.ring.wrap(value);
    });
    return vector;
  }

  private clipped(sent: SparseVector): SparseVector {
    const norm = length(sent.value);
    const factor = norm <= this.clip ? 1 : this.clip / norm;
    const cut = (value: number, n: number) => {
      const bound = this.bounds[sent.place[n]!]!;
      return Math.min(bound, Math.max(-bound, factor === 1 ? value : value * factor));
    };
    return { place: sent.place, value: sent.value.map(cut) };
  }

  /** floor(x / step + u), u from the device's own stream; towards zero where noise is measured by the length. */
  private fixedPoint(sent: SparseVector, rng: Rng): number[] {
    const stream = rng.stream(Purpose.ROUNDING);
    const step = (n: number) => this.steps[sent.place[n]!]!;
    const draws = stream.wordsAt(sent.place);
    const rounded = sent.value.map((x, n) => Math.floor(x / step(n) + draws[n]! * 2 ** -32));
    if (this.noisy && length(rounded.map((k, n) => k * step(n))) > this.clip) {
      return sent.value.map((x, n) => Math.trunc(x / step(n)));
    }
    return rounded;
  }
}

/** L2; the squares are added one after the other, so that every language finds the same bits. */
function length(values: readonly number[]): number {
  let squares = 0;
  for (const value of values) squares += value * value;
  return Math.sqrt(squares);
}

function largest(settings: ChannelSettings, table: TableSpec): number {
  if (table.bound !== null) return Math.min(table.bound, settings.clip);
  return settings.coordinate === null ? settings.clip : Math.min(settings.clip, settings.coordinate);
}

/** `bits`; a table that declares its bound (counts) gives way to a large cohort. */
function bits(settings: ChannelSettings, table: TableSpec, cohort: number): number {
  if (table.bound === null) return settings.bits;
  const headroom = settings.ring - 1 - cohort.toString(2).length;
  return Math.max(Math.min(settings.bits, headroom), Math.min(FEWEST_BITS, settings.bits));
}

/** The largest whole number of so many bits; of fewer, where the noise is coarser than their steps. */
function limit(bits: number, bound: number, clip: number, multiplier: number): number {
  const whole = 2 ** (bits - 1);
  if (!multiplier) return Math.max(whole, 2);
  return Math.max(Math.min(whole, 2 ** Math.floor(Math.log2((LARGEST_NOISE * bound) / (multiplier * clip)))), 2);
}

/** The largest noise of one number, in its steps; refuses noise that no aggregator can draw. */
function noiseSteps(steps: Float64Array, deviation: number): number {
  if (!deviation) return 0;
  let least = Infinity;
  let most = 0;
  for (const step of steps) {
    const sigma = Math.ceil(deviation / step);
    least = Math.min(least, sigma);
    most = Math.max(most, sigma);
  }
  if (least < LEAST_NOISE || most > LARGEST_NOISE) {
    throw new DeviceError(`noise must be of ${LEAST_NOISE} to ${LARGEST_NOISE} steps, but is not; take no part.`);
  }
  return most;
}

function checkFits(table: TableSpec, ring: number, cohort: number): void {
  const { most, of } = table.exact!;
  const each = typeof most === "number" ? most : most.reduce((a, b) => Math.max(a, b), 0);
  if ((of === "device" ? each * cohort : each) >= 2 ** ring) {
    throw new DeviceError(`the exact table '${table.name}' must fit words of ${ring} bits, but could overflow.`);
  }
}
