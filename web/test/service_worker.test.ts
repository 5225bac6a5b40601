import "fake-indexeddb/auto";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { IndexedDbStorage } from "../src/device/storage.ts";
import { countedRequests } from "../src/sw/meter_store.ts";

afterEach(() => vi.unstubAllGlobals());

const HERE = "https://films.example";
const handlers = new Map<string, (event: object) => void>();
const left: string[] = [];

/** The worker at work; it is loaded once. */
beforeEach(async () => {
  vi.stubGlobal("self", {
    location: { origin: HERE },
    addEventListener: (name: string, handler: (event: object) => void) => handlers.set(name, handler),
    clients: { get: async (id: string) => ({ url: `${HERE}/${id}` }) },
  });
  vi.stubGlobal("fetch", async (request: Request) => {
    left.push(request.url.slice(HERE.length));
    return new Response("");
  });
  await import("../src/sw/sw.ts");
  left.length = 0;
});

const asked = (path: string, more: RequestInit = { method: "POST", body: "a" }, clientId = "") => {
  const request = new Request(HERE + path, more);
  return new Promise<Response>((respondWith) => handlers.get("fetch")!({ request, clientId, respondWith }));
};

test("a request that is stopped while it is counted does not leave", async () => {
  const stop = new AbortController();
  const stopped = asked("/stopped", { method: "POST", body: "a", signal: stop.signal });
  stop.abort();
  await expect(stopped).rejects.toThrow(/abort/);
  expect((await asked("/goes")).ok).toBe(true);
  expect(left).toEqual(["/goes"]);
  expect(await countedRequests()).toHaveLength(2);
});

test("during a pause nothing but what is fetched passes, and the database says so each time", async () => {
  const storage = await IndexedDbStorage.open();
  await storage.write({ permission: { paused: true } });
  expect((await asked("/tickets")).type).toBe("error");
  expect((await asked("/devices/me", { method: "DELETE" })).type).toBe("error");
  expect((await asked("/m/1?now", {})).ok).toBe(true);
  expect((await asked("/pause", { method: "POST" }, "operator")).ok).toBe(true); // the operator's own
  await storage.write({ permission: { paused: false } });
  expect((await asked("/tickets")).ok).toBe(true);
  expect(left).toEqual(["/m/1?now", "/pause", "/tickets"]);
  await storage.erase();
});

test("where everything was deleted nothing is made anew to look for a pause", async () => {
  expect((await asked("/tickets")).ok).toBe(true);
  expect((await indexedDB.databases()).map(({ name }) => name)).not.toContain("murmura");
});
