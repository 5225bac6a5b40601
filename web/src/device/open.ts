/** The device in a browser: its database, its network, its worker, its clock, and one tab at a time. */

import type { Bytes } from "../bytes.ts";
import { fetchTransport } from "../protocol/transport.ts";
import { Device } from "./browser_device.ts";
import { IndexedDbStorage } from "./storage.ts";
import { type BrowserDevice, DeviceError } from "./types.ts";
import { workerTrainer } from "./worker_trainer.ts";

const LOCK = "murmura device";

/** The device of this browser; `worker` is the page's own file training_worker. */
export async function openDevice(worker: Worker): Promise<BrowserDevice> {
  return Device.open({
    storage: await IndexedDbStorage.open(),
    send: fetchTransport,
    trainer: workerTrainer(worker),
    clock: () => Date.now() / 1000,
    sleep: (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds)),
    entropy: systemRandomness,
    origin: location.origin,
    alone,
  });
}

export function systemRandomness(bytes: number): Bytes {
  return crypto.getRandomValues(new Uint8Array(bytes));
}

/** Two tabs must not answer one round with two updates. */
async function alone<T>(work: () => Promise<T>): Promise<T> {
  const held = await navigator.locks.request(LOCK, { ifAvailable: true }, async (lock) =>
    lock ? { result: await work() } : null,
  );
  if (!held)
    throw new DeviceError("only one tab of this page can take part at a time, and another one does; use that one.");
  return held.result;
}
