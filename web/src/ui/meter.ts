/** What the meter counted, beside what the page wrote down. */

import type { TrafficEntry } from "../device/types.ts";
import { type CountedRequest, countedRequests, METER } from "../sw/meter_store.ts";

/** What the page is made of, and what it asks before there is a device. */
const FILES = [
  "/",
  "/titles.json",
  "/federation",
  "/assets/app.js",
  "/assets/app.css",
  "/assets/training.js",
  "/assets/training_worker.js",
  "/icon.svg",
  "/manifest.webmanifest",
];

export interface Metered {
  available: boolean;
  counted: CountedRequest[]; // requests with a body
  bytes: number; // of their bodies
  undeclared: CountedRequest[]; // that the page did not write down
}

export async function readMeter(traffic: readonly TrafficEntry[]): Promise<Metered> {
  if (!navigator.serviceWorker?.controller) return { available: false, counted: [], bytes: 0, undeclared: [] };
  return compared(await countedRequests(), traffic, location.origin);
}

/** A counted request is declared if the page wrote down one of the same address and body. */
export function compared(
  requests: readonly CountedRequest[],
  traffic: readonly TrafficEntry[],
  origin: string,
): Metered {
  const declared = new Map<string, number>();
  for (const { method, url, hash } of traffic) count(declared, `${method} ${url} ${hash}`, 1);
  const undeclared = requests.filter(({ method, url, hash }) => {
    if (!hash && method === "GET" && isPublic(url, origin)) return false;
    const name = `${method} ${url} ${hash}`,
      left = declared.get(name) ?? 0;
    if (left > 0 && hash) count(declared, name, -1);
    return left <= 0;
  });
  const counted = requests.filter(({ bytes }) => bytes > 0);
  return { available: true, counted, bytes: counted.reduce((sum, { bytes }) => sum + bytes, 0), undeclared };
}

/** The files of the page itself, the same for everyone; an address that says more is none of them. */
function isPublic(url: string, origin: string): boolean {
  return FILES.some((path) => url === origin + path);
}

export async function forgetMeter(): Promise<void> {
  await new Promise<void>((resolve) => {
    const deleting = indexedDB.deleteDatabase(METER);
    deleting.onsuccess = deleting.onerror = deleting.onblocked = () => resolve();
  });
}

function count(counts: Map<string, number>, name: string, by: number): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}
