/**
 * Sticky consent: an item joins the shared set only while that set is smaller than floor(pi * n), drawn at random
 * among the undecided, and never leaves the record. However often she trains, changes pi, gains items or excludes
 * some, the items ever sent are at most the largest floor(pi * n) there has been. pi limits what is contributed;
 * it does not protect privacy.
 */

import { Purpose, Rng, type Secret } from "../numerics/philox.ts";

/** floor(pi * n), where 0.29 * 100 is 29 although the product of the doubles is a little less. */
export function stickyLimit(pi: number, n: number): number {
  return Math.floor(pi * n + 1e-9);
}

/** Let items join while there is room; `joined` is in the order they did. */
export function extendRecord(
  joined: readonly number[],
  never: readonly number[],
  items: Iterable<number>,
  pi: number,
  secret: Secret,
): number[] {
  const own = [...new Set(items)].sort((a, b) => a - b);
  const barred = new Set([...never, ...joined]);
  const undecided = own.filter((item) => !barred.has(item));
  const grown = [...joined];
  const free = Math.min(stickyLimit(pi, own.length) - joined.length, undecided.length);
  const stream = new Rng(secret, joined.length).stream(Purpose.CONSENT);
  for (let n = 0; n < free; n++) {
    const place = stream.below(undecided.length);
    grown.push(undecided[place]!);
    undecided[place] = undecided.at(-1)!;
    undecided.pop();
  }
  return grown;
}

/** 1 for what may be sent now: of what has joined, the first floor(pi * n), without the excluded. */
export function stickyConsent(
  joined: readonly number[],
  never: readonly number[],
  items: ArrayLike<number>,
  pi: number,
): Float64Array {
  const active = new Set(joined.slice(0, stickyLimit(pi, items.length)));
  const barred = new Set(never);
  return Float64Array.from(items, (item) => Number(active.has(item) && !barred.has(item)));
}
