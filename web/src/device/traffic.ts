/**
 * Every request is written down before its first byte leaves: what the ledger shows and a meter can confirm. A pause
 * is read in the transaction that writes the line, so none is written after a pause, whichever tab made it.
 */

import { sha256Hex } from "../crypto/hashing.ts";
import type { HttpRequest, Transport } from "../protocol/transport.ts";
import { RefusedError } from "../refusals.ts";
import type { DeviceStorage } from "./storage.ts";
import { DeviceError, type Permission, type TrafficEntry } from "./types.ts";

export const PAUSED = "its owner has paused this device, so nothing more leaves.";

/** The same transport, with a line in the storage for every request. */
export function declared(send: Transport, storage: DeviceStorage, clock: () => number): Transport {
  return async (request) => {
    const { name, entry } = await begun(request, storage, clock);
    try {
      const reply = await send(request);
      const state = reply.status >= 400 ? "refused" : "answered";
      await storage.write({ [name]: { ...entry, state, received: entry.received + reply.body.length } });
      return reply;
    } catch (error) {
      const state = error instanceof RefusedError ? "refused" : "no answer";
      await storage.write({ [name]: { ...entry, state } });
      throw error;
    }
  };
}

/** Requests with a body have a line each; others one by address, as devices ask the same again and again. */
async function begun(
  request: HttpRequest,
  storage: DeviceStorage,
  clock: () => number,
): Promise<{ name: string; entry: TrafficEntry }> {
  const { method, url, purpose, body } = request;
  const hash = body ? await sha256Hex(body) : "";
  const address = `traffic/${method} ${url}`;
  const changes = await storage.change(["permission", "requests", address], ([permission, requests, line]) => {
    if (method !== "GET" && (permission as Permission | undefined)?.paused) throw new DeviceError(PAUSED);
    const known = body ? undefined : (line as TrafficEntry | undefined);
    const id = known?.id ?? ((requests as number | undefined) ?? 0) + 1;
    const entry: TrafficEntry = {
      id,
      time: new Date(1000 * clock()).toISOString(),
      method,
      url,
      purpose,
      round: request.round ?? null,
      bytes: body?.length ?? 0,
      hash,
      times: (known?.times ?? 0) + 1,
      received: known?.received ?? 0,
      state: "leaving",
    };
    return { [body ? `traffic/${String(id).padStart(9, "0")}` : address]: entry, ...(known ? {} : { requests: id }) };
  });
  const [name, entry] = Object.entries(changes)[0]!;
  return { name, entry: entry as TrafficEntry };
}
