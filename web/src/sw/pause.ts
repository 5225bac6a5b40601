/** Whether the owner has paused her device, as its database says now; nothing of it is kept here. */

import { DATABASE, STORE } from "../device/storage.ts";
import type { Permission } from "../device/types.ts";
import { done } from "./meter_store.ts";

export async function isPaused(): Promise<boolean> {
  const database = await opened();
  if (!database) return false;
  try {
    const kept = await done(database.transaction(STORE).objectStore(STORE).get("permission"));
    return (kept as Partial<Permission> | undefined)?.paused ?? false;
  } finally {
    database.close();
  }
}

/** null where nothing was ever kept, or everything was deleted; it is not made anew. */
async function opened(): Promise<IDBDatabase | null> {
  const opening = indexedDB.open(DATABASE);
  let absent = false;
  opening.onupgradeneeded = () => {
    absent = true;
    opening.transaction!.abort();
  };
  return done(opening).catch((error: unknown) => {
    if (absent) return null;
    throw error;
  });
}
