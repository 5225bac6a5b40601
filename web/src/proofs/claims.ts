/** What a phase proves of each upload before it is added, as plain numbers that cross to a worker; and its circuit. */

import { DeviceError } from "../device/types.ts";
import type { ProvenVector } from "./circuit.ts";
import { CountedItems } from "./counted_items.ts";
import { ELEMENT_BYTES, type Elements, joined } from "./field.ts";
import { PairWords } from "./pair_words.ts";
import { PairedItems } from "./paired_items.ts";

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

export type Claim = CountsClaim | PairsClaim;

/** Everybody makes the same one of what is public. */
export function circuitOf(claim: Claim): ProvenVector {
  if (claim.kind === "counts") return counted(claim);
  return new PairedItems(counted(claim.counted), claim.ranked, new PairWords(claim.bounds), claim.rows);
}

/** What one person shares and proves. */
export function provenVector(claim: Claim, own: Iterable<number>): Elements {
  const { items } = claim.kind === "counts" ? claim : claim.counted;
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
