import "fake-indexeddb/auto";
import { afterEach, expect, test, vi } from "vitest";
import { ClosableStorage, type DeviceStorage, IndexedDbStorage, MemoryStorage } from "../src/device/storage.ts";

const kinds: [string, () => Promise<DeviceStorage>][] = [
  ["memory", async () => new MemoryStorage()],
  ["IndexedDB", () => IndexedDbStorage.open("every kind")],
];
afterEach(() => vi.restoreAllMocks());

test.each(kinds)("%s keeps values, lists them by name and deletes", async (_, open) => {
  const storage = await open();
  const bytes = Uint8Array.of(1, 2, 3);
  await storage.write({ "a/2": { bytes }, "a/1": 1, b: null, c: "gone" });
  await storage.write({ c: undefined });
  expect(await storage.read("c")).toBe(undefined);
  expect(await storage.list("a/")).toEqual([1, { bytes }]);
  bytes[0] = 9;
  expect(await storage.read("a/2")).toEqual({ bytes: Uint8Array.of(1, 2, 3) });
  await storage.erase();
});

test.each(kinds)("%s changes several values at once, or none where it is refused", async (_, open) => {
  const storage = await open();
  await storage.write({ one: 1, two: 2 });
  const made = await storage.change(["one", "none"], ([one, none]) => ({ one: none, two: (one as number) + 10 }));
  expect([made, await storage.read("one"), await storage.read("two")]).toEqual([{ two: 11 }, undefined, 11]);
  const refuse = () => {
    throw new Error("no");
  };
  await expect(storage.change(["two"], refuse)).rejects.toThrow("no");
  const counts = Array.from({ length: 20 }, () => storage.change(["n"], ([n]) => ({ n: ((n as number) ?? 0) + 1 })));
  await Promise.all(counts);
  expect([await storage.read("two"), await storage.read("n")]).toEqual([11, 20]);
  await storage.erase();
});

test("IndexedDB keeps across openings and is gone when erased", async () => {
  const storage = await IndexedDbStorage.open("kept");
  await storage.write({ likes: [1] });
  const again = await IndexedDbStorage.open("kept");
  expect(await again.read("likes")).toEqual([1]);
  await storage.erase();
  expect((await indexedDB.databases()).map(({ name }) => name)).not.toContain("kept");
  expect(await (await IndexedDbStorage.open("kept")).read("likes")).toBe(undefined);
});

test("what is being written does not keep it from being erased; later reads are refused, not thrown", async () => {
  const storage = await IndexedDbStorage.open("busy");
  const writing = storage.write({ one: new Uint8Array(1e6) });
  await storage.erase();
  await writing;
  expect((await indexedDB.databases()).map(({ name }) => name)).not.toContain("busy");
  const late = [storage.read("one"), storage.list("o")];
  for (const one of late) await expect(one).rejects.toThrow(/must be able to keep/);
});

test("a write that cannot be cloned writes none of it", async () => {
  const storage = await IndexedDbStorage.open("whole");
  await storage.write({ one: 1 });
  await expect(storage.write({ one: 2, two: () => 3 })).rejects.toThrow();
  expect([await storage.read("one"), await storage.read("two")]).toEqual([1, undefined]);
});

test("a browser that refuses storage says so in one sentence", async () => {
  vi.spyOn(indexedDB, "open").mockImplementation(() => {
    throw new DOMException("The operation is insecure.", "SecurityError");
  });
  await expect(IndexedDbStorage.open("refused")).rejects.toThrow(/must be able to keep what you decide, but cannot/);
});

test("what was deleted cannot be written anew", async () => {
  const inner = new MemoryStorage();
  const storage = new ClosableStorage(inner);
  await storage.write({ one: 1 });
  await storage.erase();
  await expect(storage.write({ one: 1 })).rejects.toThrow(/deleted/);
  expect(await inner.list("")).toEqual([]);
});
