/** What the page keeps beside the device: its files for when there is no network, its worker, what that counted. */

import { forgetMeter } from "./meter.ts";

/** Delete it; a browser may have no cache and no worker, as in private browsing. */
export async function forgetPage(): Promise<void> {
  const kept = globalThis.caches as CacheStorage | undefined;
  const workers = (globalThis.navigator as Navigator | undefined)?.serviceWorker as ServiceWorkerContainer | undefined;
  try {
    for (const name of (await kept?.keys()) ?? []) await kept!.delete(name);
    for (const one of (await workers?.getRegistrations()) ?? []) await one.unregister();
  } finally {
    await forgetMeter();
  }
}
