/** Triples of an own item and one on offer that is not own, as training draws them. */

import type { FederationInfo } from "../channel/layout.ts";
import type { Stream } from "../numerics/philox.ts";
import type { History } from "./method.ts";

export interface Triples {
  own: number[]; // places among the own items
  other: number[]; // items on offer that are not own
}

/** n draws with replacement; none for someone who has no item, or every item. */
export function drawTriples(info: FederationInfo, history: History, n: number, stream: Stream): Triples {
  const mine = new Set(history.item);
  const drawn: Triples = { own: [], other: [] };
  if (!mine.size || info.listed.every((item) => mine.has(item))) return drawn;
  for (let t = 0; t < n; t++) {
    drawn.own.push(stream.below(history.item.length));
    let other: number;
    do other = info.listed[stream.below(info.listed.length)]!;
    while (mine.has(other));
    drawn.other.push(other);
  }
  return drawn;
}
