/** The page's own files, its worker and what that counted: all are deleted, also where some are absent. */

import "fake-indexeddb/auto";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { addRequest, countedRequests } from "../src/sw/meter_store.ts";
import { forgetPage } from "../src/ui/forgetting.ts";

beforeEach(() =>
  addRequest({ time: "t", method: "POST", url: "https://a.example/", bytes: 1, address: 18, hash: "aa", times: 1 }),
);
afterEach(() => vi.unstubAllGlobals());

test("where there is no cache and no worker, what was counted is deleted", async () => {
  vi.stubGlobal("caches", undefined);
  vi.stubGlobal("navigator", {});
  expect(await countedRequests()).toHaveLength(1);
  await forgetPage();
  expect(await countedRequests()).toEqual([]);
});

test("a cache that refuses does not keep what was counted", async () => {
  vi.stubGlobal("caches", { keys: () => Promise.reject(new Error("it is not allowed")) });
  await expect(forgetPage()).rejects.toThrow(/not allowed/);
  expect(await countedRequests()).toEqual([]);
});

test("kept files and workers are deleted", async () => {
  const deleted: string[] = [];
  vi.stubGlobal("caches", { keys: async () => ["page"], delete: async (name: string) => deleted.push(name) });
  const worker = { unregister: async () => deleted.push("worker") };
  vi.stubGlobal("navigator", { serviceWorker: { getRegistrations: async () => [worker] } });
  await forgetPage();
  expect(deleted).toEqual(["page", "worker"]);
});
