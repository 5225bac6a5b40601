/** What methods of sums share: whose items are counted, and what the counts that become public tell. */

import type { Tables } from "../message/codec.ts";
import type { Update } from "../message/declaration.ts";
import { Purpose, type Rng } from "../numerics/philox.ts";
import type { History, Phase } from "./method.ts";

/** A row of a smaller value than `from` takes no part. */
export function takesPart(value: number, from: number | null): boolean {
  return from === null || value >= from;
}

/** The items that may speak in an exchange. */
export function sharedItems(history: History, rng: Rng, valueFrom: number | null): Int32Array {
  const coins = rng.stream(Purpose.COINS);
  const open = Array.from(history.consent, (share) => coins.coin(share));
  return history.item.filter((_, row) => open[row] && takesPart(history.value[row]!, valueFrom));
}

/** How often each item occurs, once the first exchange has told. */
export function releasedCounts(model: Tables): number[] | null {
  const counts = Array.from(model.counts!);
  return counts.some((count) => count > 0) ? counts : null;
}

/** What is counted is disclosed; pairs show no other item than that. */
export function countedRows(of: Phase, update: Update, history: History): boolean[] {
  const held = new Set(of.name === "counts" ? (update.own ?? update.tables.counts!.index) : []);
  return Array.from(history.item, (item) => held.has(item));
}
