/** What she likes and allows: changed where it is kept, as another tab may have changed it since. */

import { NO_CONSENT } from "./memory.ts";
import type { DeviceStorage } from "./storage.ts";
import { DeviceError, type Like, type Permission } from "./types.ts";

/** Refuse what is no list of items below `items`, each once. */
export function checkLikes(likes: readonly Like[], items: number): void {
  const known = Array.isArray(likes) ? likes.map((one: Partial<Like> | null) => one?.item) : [undefined];
  const fits = known.every((item) => Number.isInteger(item) && item! >= 0 && item! < items);
  if (!fits || new Set(known).size < known.length) {
    throw new DeviceError("likes must be items of this federation, each once, but are not.");
  }
}

/** With these, or without them; what is liked already stays as it is. */
export async function changeLikes(storage: DeviceStorage, changed: readonly Like[], on: boolean): Promise<void> {
  const items = new Set(changed.map(({ item }) => item));
  await storage.change(["likes"], ([likes]) => {
    const kept = (likes ?? []) as Like[];
    if (!on) return { likes: kept.filter(({ item }) => !items.has(item)) };
    const known = new Set(kept.map(({ item }) => item));
    return { likes: [...kept, ...changed.filter(({ item }) => !known.has(item))] };
  });
}

export async function changePermission(
  storage: DeviceStorage,
  change: (kept: Permission) => Partial<Permission>,
): Promise<Permission> {
  const changes = await storage.change(["permission"], ([permission]) => {
    const kept = { ...NO_CONSENT, ...(permission as Partial<Permission> | undefined) };
    const changed = { ...kept, ...change(kept) };
    checkPermission(changed);
    return { permission: changed };
  });
  return changes.permission as Permission;
}

export function checkPermission({ pi, never }: Permission): void {
  if (!(pi >= 0 && pi <= 1)) throw new DeviceError(`pi must be between 0 and 1, but is ${pi}.`);
  if (!Array.isArray(never)) throw new DeviceError("what is never shared must be a list of items, but is not.");
}
