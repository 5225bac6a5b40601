/** What a phase proves of each upload before it is added, as plain numbers that cross to a worker; and its circuit. */

import { DeviceError } from "../device/types.ts";
import type { ProvenVector } from "./circuit.ts";
import { CountedItems } from "./counted_items.ts";
import { ELEMENT_BYTES, type Elements, joined } from "./field.ts";
import { PairWords } from "./pair_words.ts";
import { PairedItems } from "./paired_items.ts";
import { WeightedCounts, WeightedPairs } from "./weighted_items.ts";

const LARGEST_UPLOAD = 64 << 20; // bytes: whoever describes a federation says how many people a device has

/** How many people of a device share each item: of one person at most `cap` items, each once. */
export interface CountsClaim {
  kind: "counts";
  items: readonly number[]; // ascending
  people: number;
  cap: number;
}

/** How often two items occur together in what was counted. */
export interface PairsClaim {
  kind: "pairs";
  counted: CountsClaim; // of the exchange before
  ranked: readonly number[]; // by rank, its place among the items
  bounds: readonly number[]; // by rank, ascending: no pair with a later one occurs more often
  rows: readonly [first: number, end: number] | null; // the ranks whose words are sent; null: all
}

/** Which items each person shares, or which pairs of them, times one whole-number weight of hers: of length 1. */
export interface WeightedClaim {
  kind: "weighted counts" | "weighted pairs";
  items: readonly number[]; // ascending
  people: number;
  few: number; // items of somebody with few: with fewer her weight in pairs is no larger
  size?: SumSize; // known with the round
}

/** What decides how fine weights are. */
export interface SumSize {
  bits: number;
  cohort: number; // no more devices than this in one sum
  multiplier: number; // of the noise each aggregator adds, over the longest contribution; 0: none
}

export type Claim = CountsClaim | PairsClaim | WeightedClaim;

/** Everybody makes the same one of what is public. */
export function circuitOf(claim: Claim): ProvenVector {
  if (claim.kind === "counts") return counted(claim);
  if (claim.kind !== "pairs") return weighted(claim);
  return new PairedItems(counted(claim.counted), claim.ranked, new PairWords(claim.bounds), claim.rows);
}

const BASES = [2_642_245, 2 ** 32 - 1]; // the largest of which three, and two, counters fit into a word
const COARSEST = 128; // the largest weight is no smaller if it can be
const LARGEST_NOISE = 2 ** 13; // steps: what the aggregators can draw
const FARTHEST = 17; // sigma: the noise of two aggregators in one number is not farther from 0

/** The longest contribution is as many whole steps as noise can be drawn for, and as counters have room for. */
function weighted({ kind, items, people, few, size }: WeightedClaim): WeightedCounts | WeightedPairs {
  const { bits, cohort, multiplier } = size!;
  const most = 2 ** (bits - 1);
  const longest = multiplier ? Math.min(most, Math.floor((LARGEST_NOISE - 1) / multiplier)) : most;
  if (kind === "weighted counts") return new WeightedCounts(items.length, people, longest);
  let [base, largest, heaviest] = [0, 0, 0];
  for (base of BASES) {
    heaviest = Math.floor(((base - 1) / 2 - FARTHEST) / (cohort * people + FARTHEST * multiplier * few));
    largest = Math.min(longest, heaviest * few);
    if (heaviest >= COARSEST) break;
  }
  if (heaviest < 1) throw new DeviceError("a sum of pairs must fit its words, but would not; take no part.");
  const words = new PairWords(new Array<number>(items.length).fill(base - 1), true);
  return new WeightedPairs(people, largest, Math.min(heaviest, largest), words);
}

/** What one person shares and proves. */
export function provenVector(claim: Claim, own: Iterable<number>): Elements {
  const { items } = claim.kind === "pairs" ? claim.counted : claim;
  const shared = new Set(own);
  const circuit = circuitOf(claim);
  if (ELEMENT_BYTES * circuit.length > LARGEST_UPLOAD) {
    throw new DeviceError(
      `an upload must have at most ${LARGEST_UPLOAD} bytes, but would have ${ELEMENT_BYTES * circuit.length}; take no part.`,
    );
  }
  return circuit.vector([Array.from(items.keys()).filter((place) => shared.has(items[place]!))]);
}

/** The numbers of a vector that are summed, behind a 1 that counts the device: where the server reads each upload. */
export function plainVector(claim: Claim, vector: Elements): Elements {
  return joined(BigUint64Array.of(1n), circuitOf(claim).released(vector));
}

function counted(claim: CountsClaim): CountedItems {
  return new CountedItems(claim.items.length, claim.people, claim.cap);
}
