import { expect, test } from "vitest";
import { fromHex, toHex } from "../src/bytes.ts";
import { Chain } from "../src/channel/chain.ts";
import type { FederationInfo } from "../src/channel/layout.ts";
import { channelSettings } from "../src/channel/settings.ts";
import { expand, otherShare } from "../src/channel/shares.ts";
import { mark, message, spelled, table, type Update } from "../src/message/declaration.ts";
import { Rng } from "../src/numerics/philox.ts";
import { type Plain, vectors } from "./vectors.ts";

const golden = vectors("channel");
const info: FederationInfo = { ...golden.public, clients: 200, interactions: 900, people: 1 };
const items = table("items", "item", 9, 3);
const { index, values, hits } = golden.update;
const rows = { index: Int32Array.from(index), values: Float32Array.from(values.flat()) };
const rng = new Rng(golden.secret, golden.round);

function chain(settings: Plain, sends = message([items], ["hits"])): Chain {
  const of = { sends, repeats: true, longest: null, cohort: golden.cohort, multiplier: 0 };
  return Chain.of(channelSettings(settings), info, of);
}

test.each(golden.channels as Plain[])(
  "one update through $settings.block, ring $settings.ring",
  async (...[plain]: Plain[]) => {
    const made = chain(plain.settings);
    const seed = fromHex(golden.seed);
    expect(made.layout.block(golden.round)).toEqual(plain.block);
    const vector = made.device({ tables: { items: rows }, scalars: { hits } }, rng, golden.round);
    expect([...vector]).toEqual(plain.vector);
    expect(toHex(made.ring.pack(vector))).toBe(plain.packed);
    const other = await otherShare(vector, seed, made.ring);
    expect(toHex(made.ring.pack(other))).toBe(plain.other_share);
    expect([...made.ring.sum(await expand(seed, made.ring), other)]).toEqual(plain.vector);
  },
);

test("exact tables cross untouched beside rounded ones", async () => {
  const exact = golden.exact;
  const sends = message(
    [
      table("counts", "item", 9, 1, "uint32", { exact: { most: 1, of: "device" } }),
      items,
      table("packed", "item", 9, 1, "uint32", { exact: { most: Uint32Array.from(exact.bounds), of: "sum" } }),
    ],
    ["hits"],
  );
  expect(await spelled(sends)).toBe(exact.declaration);
  expect(await mark(sends)).toBe(exact.mark);
  const whole = (name: string) => ({ index: rows.index, values: Uint32Array.from(exact[name]) });
  const update: Update = {
    tables: { counts: whole("counts"), items: rows, packed: whole("packed") },
    scalars: { hits },
  };
  for (const { settings, vector } of exact.channels) {
    expect([...chain(settings, sends).device(update, rng, golden.round)]).toEqual(vector);
  }
});

test("a cohort whose sum could overflow is refused", () => {
  const settings = channelSettings({ ...golden.channels[0].settings, ring: 24 });
  const of = { sends: message([items]), repeats: true, longest: null, cohort: 300, multiplier: 0 };
  expect(() => Chain.of(settings, info, of)).toThrow(/could overflow/);
});
