import { expect, test } from "vitest";
import { fromHex, toHex } from "../src/bytes.ts";
import { applyChanges, decodeModel, decodeUpdate, encodeUpdate } from "../src/message/codec.ts";
import { mark, message, narrowed, spelled, table } from "../src/message/declaration.ts";
import { spelledDouble } from "../src/doubles.ts";
import { type Plain, vectors } from "./vectors.ts";

const golden = vectors("messages");
const sends = message(
  [
    table("items", "item", 5, 2, "float32", { bound: 4 }),
    table("counts", "item", 5, 1, "uint32", { exact: { most: Uint32Array.of(3, 3, 0, 7, 2 ** 32 - 1), of: "device" } }),
    table("whole", "dense", 2, 1, "float64"),
  ],
  ["loss"],
);
const publishes = message([
  table("Q", "item", 5, 2),
  table("b", "dense", 3, 1, "float64"),
  table("n", "item", 5, 1, "uint32"),
]);
const narrow = narrowed(publishes, "int8");
const bytes = (name: string) => fromHex(golden[name]);

test("declarations are spelled and marked alike", async () => {
  for (const [name, spec] of [
    ["sends", sends],
    ["publishes", publishes],
    ["int8 publishes", narrow],
  ] as const) {
    expect(await spelled(spec)).toBe(golden[name]);
    expect(await mark(spec)).toBe(golden[`${name}_mark`]);
  }
});

test("an update is read and written", async () => {
  const update = await decodeUpdate(bytes("update"), sends);
  expect(update.scalars).toEqual({ loss: 0.625 });
  expect([...update.tables.items!.values]).toEqual([0.5, -1.25, 3, 0.0625]);
  expect([...update.tables.counts!.values]).toEqual([7, 2 ** 32 - 1]);
  expect(toHex(await encodeUpdate(update, sends))).toBe(golden.update);
});

test("what changed leads to the bytes of the whole model", async () => {
  for (const [base, changes, whole, spec] of [
    ["base", "changes", "model", publishes],
    ["model", "unchanged", "model", publishes],
    ["int8 base", "int8 changes", "int8 model", narrow],
  ] as const) {
    expect(toHex(await applyChanges(bytes(base), bytes(changes), spec, golden.listed))).toBe(golden[whole]);
  }
  const model = await decodeModel(bytes("model"), publishes, golden.listed);
  expect(model.Q![2 * 3 + 1]).toBe(-5.5);
  expect(Object.is(model.b![1], -0)).toBe(true);
});

test("short numbers stand for what the file says", async () => {
  const model = await decodeModel(bytes("int8 model"), narrow, golden.listed);
  for (const [name, values] of Object.entries<Plain>(golden["int8 values"])) {
    expect([...model[name]!]).toEqual(values.flat());
  }
});

const readers: Record<string, (content: Uint8Array) => Promise<unknown>> = {
  update: (content) => decodeUpdate(content, sends),
  model: (content) => decodeModel(content, publishes, golden.listed),
  changes: (content) => applyChanges(bytes("base"), content, publishes, golden.listed),
  "int8 model": (content) => decodeModel(content, narrow, golden.listed),
};

for (const { message: kind, what, bytes: content } of golden.tampered as Plain[]) {
  test(`${kind}: ${what} is refused`, async () => {
    await expect(readers[kind]!(fromHex(content))).rejects.toThrow(/must/);
  });
}

test("doubles are spelled as the wire has them", () => {
  const spellings = ["0.0", "60.0", "1e-05", "0.0001", "1e+16", "123456789012345.6", "-0.5", "5e-324", "1.5e+300"];
  for (const one of spellings) expect(spelledDouble(Number(one))).toBe(one);
  expect(spelledDouble(-0)).toBe("-0.0");
});
