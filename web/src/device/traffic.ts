/** Every request is written down before its first byte leaves: what the ledger shows and a meter can confirm. */

import { sha256Hex } from "../crypto/hashing.ts";
import type { HttpRequest, Transport } from "../protocol/transport.ts";
import { RefusedError } from "../refusals.ts";
import type { DeviceStorage } from "./storage.ts";
import type { TrafficEntry } from "./types.ts";

/** The same transport, with a line in the storage for every request. */
export function declared(send: Transport, storage: DeviceStorage, clock: () => number): Transport {
  return async (request) => {
    const { name, entry } = await begun(request, storage, clock);
    await storage.write({ [name]: entry });
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
  const known = body ? undefined : await storage.read<TrafficEntry>(`traffic/${method} ${url}`);
  const id = known?.id ?? ((await storage.read<number>("requests")) ?? 0) + 1;
  if (!known) await storage.write({ requests: id });
  const entry: TrafficEntry = {
    id,
    time: new Date(1000 * clock()).toISOString(),
    method,
    url,
    purpose,
    round: request.round ?? null,
    bytes: body?.length ?? 0,
    hash: body ? await sha256Hex(body) : "",
    times: (known?.times ?? 0) + 1,
    received: known?.received ?? 0,
    state: "leaving",
  };
  return { name: body ? `traffic/${String(id).padStart(9, "0")}` : `traffic/${method} ${url}`, entry };
}
