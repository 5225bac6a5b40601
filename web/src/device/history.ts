/** What a device holds of the items on offer, with the consent that counts. */

import type { FederationInfo } from "../channel/layout.ts";
import type { History } from "../methods/method.ts";
import type { Secret } from "../numerics/philox.ts";
import { extendRecord, stickyConsent } from "./consent.ts";
import type { Like, Permission } from "./types.ts";

/** The rows on offer with their consent, and the sticky record after it. */
export function heldHistory(
  likes: readonly Like[],
  info: FederationInfo,
  joined: readonly number[],
  allowed: Permission,
  secret: Secret,
): { history: History; joined: number[] } {
  const listed = new Set(info.listed);
  const rows = likes.filter(({ item }) => listed.has(item)).sort((a, b) => a.item - b.item);
  const item = Int32Array.from(rows, (one) => one.item);
  const never = allowed.never;
  const grown = extendRecord(joined, never, item, allowed.pi, secret);
  const consent = stickyConsent(grown, never, item, allowed.pi);
  const timed = rows.length > 0 && rows.every(({ time }) => time !== null);
  const time = timed ? Float64Array.from(rows, (one) => one.time!) : null;
  return { history: { item, value: Float64Array.from(rows, (one) => one.value), consent, time }, joined: grown };
}
