import "fake-indexeddb/auto";
import { afterEach, expect, test, vi } from "vitest";
import { countedRequests } from "../src/sw/meter_store.ts";

afterEach(() => vi.unstubAllGlobals());

test("a request that is stopped while it is counted does not leave", async () => {
  const handlers = new Map<string, (event: object) => void>();
  const left: string[] = [];
  vi.stubGlobal("self", {
    location: { origin: "https://films.example" },
    addEventListener: (name: string, handler: (event: object) => void) => handlers.set(name, handler),
  });
  vi.stubGlobal("fetch", async (request: Request) => {
    left.push(request.url);
    return new Response("");
  });
  await import("../src/sw/sw.ts");
  const asked = (path: string, signal: AbortSignal) => {
    const request = new Request(`https://films.example${path}`, { method: "POST", body: "a", signal });
    return new Promise<Response>((resolve) => handlers.get("fetch")!({ request, respondWith: resolve }));
  };
  const stop = new AbortController();
  const stopped = asked("/stopped", stop.signal);
  stop.abort();
  await expect(stopped).rejects.toThrow(/abort/);
  expect((await asked("/goes", new AbortController().signal)).ok).toBe(true);
  expect(left).toEqual(["https://films.example/goes"]);
  expect(await countedRequests()).toHaveLength(2);
});
