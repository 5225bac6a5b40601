import { expect, test } from "vitest";
import { fromHex } from "../src/bytes.ts";
import { Chain } from "../src/channel/chain.ts";
import type { FederationInfo } from "../src/channel/layout.ts";
import { channelSettings } from "../src/channel/settings.ts";
import { rank } from "../src/device/training.ts";
import { decodeModel } from "../src/message/codec.ts";
import { checkUpdate, spelled } from "../src/message/declaration.ts";
import { featuresOf, readableNames, readFeatures } from "../src/methods/item_features.ts";
import { Kgflex } from "../src/methods/kgflex.ts";
import { checkConsent, type History } from "../src/methods/method.ts";
import { Rng } from "../src/numerics/philox.ts";
import { type Plain, vectors } from "./vectors.ts";

const golden = vectors("device");
const features = await readFeatures(fromHex(golden.features.content));
const info: FederationInfo = { ...golden.public, counts: null, features, featureCount: features.labels.length };
const history: History = {
  item: Int32Array.from(golden.own),
  value: new Float64Array(5).fill(1),
  consent: Float64Array.from(golden.consents),
  time: Float64Array.from(golden.time),
};

test("item features are read, and read as words", () => {
  expect(features.labels).toEqual(golden.features.labels);
  expect(golden.features.of.map((_: Plain, item: number) => [...featuresOf(features, item)])).toEqual(
    golden.features.of,
  );
  expect(readableNames(features.labels)).toEqual(golden.features.names);
});

for (const { what, bytes } of golden.features.tampered as Plain[]) {
  test(`item features, ${what}, are refused`, async () => {
    await expect(readFeatures(fromHex(bytes))).rejects.toThrow(/must/);
  });
}

test.each(golden.kgflex as Plain[])("a visit of $method by $settings.measure", async (...[plain]: Plain[]) => {
  const method = Kgflex.of(plain.settings);
  const [phase] = method.phases(info);
  const digits = 6;
  expect(await spelled(phase!.sends)).toBe(plain.sends);
  const model = await decodeModel(fromHex(plain.model), method.publishes(info), info.listed);
  const context = { info, phase: "train", round: golden.round, model };
  const rng = new Rng(golden.secret, golden.round);
  const before = method.clientInit(info, history, new Rng(golden.secret));
  expect([...before.feature!]).toEqual(plain.feature);
  close(before.k!, plain.gains, digits);
  expect([...before.P!]).toEqual(plain.before);
  const { state, update } = method.clientStep(context, before, history, rng);
  checkUpdate(phase!.sends, update);
  checkConsent(phase!, update, history, features);
  expect([...update.tables.features!.index]).toEqual(plain.index);
  close(update.tables.features!.values, plain.values, digits);
  close(state.P!, plain.after, digits);
  const of = { sends: phase!.sends, repeats: true, longest: null, cohort: golden.cohort, multiplier: 0 };
  expect([...Chain.of(channelSettings(golden.channel), info, of).device(update, rng, golden.round)]).toEqual(
    plain.vector,
  );
});

test.each(golden.kgflex as Plain[])(
  "reasons of $method add up, and 'because' is tested",
  async (...[plain]: Plain[]) => {
    const { method, settings } = plain;
    const model = await decodeModel(fromHex(plain.model), Kgflex.of(settings).publishes(info), info.listed);
    const request = {
      of: { method, settings },
      info,
      round: golden.round,
      model,
      state: null,
      history,
      secret: golden.secret,
      k: 2,
      popular: false,
      disclosed: [],
      withoutTerms: [] as string[],
      withoutLikes: [],
    };
    const list = rank(request);
    expect(list.map(({ item }) => item)).toEqual(plain.shown);
    list.forEach(({ item, score, reasons }, n) => {
      expect(score).toBeCloseTo(plain.scores[item], 5);
      expect(reasons.map(({ label, because }) => [label, because])).toEqual(
        plain.reasons[n].map((one: Plain) => [one.name, one.because]),
      );
      close(
        reasons.map(({ weight }) => weight),
        plain.reasons[n].map(({ term }: Plain) => term),
        5,
      );
      expect(reasons.reduce((sum, { weight }) => sum + weight, 0)).toBeCloseTo(score, 9);
    });
    for (const { item, reasons } of list) {
      for (const { label, because } of reasons.filter(({ because }) => because)) {
        expect(because).toBe(true);
        expect(rank({ ...request, withoutTerms: [label] }).map((one) => one.item)).not.toContain(item);
      }
    }
    expect(rank({ ...request, popular: true })).toEqual([]); // without likes nothing is known to be better
  },
);

test("a reason says whether its feature is of something that was sent", async () => {
  const { method, settings, model } = golden.kgflex[0];
  const tables = await decodeModel(fromHex(model), Kgflex.of(settings).publishes(info), info.listed);
  const request = {
    of: { method, settings },
    info,
    round: golden.round,
    model: tables,
    state: null,
    history,
    secret: golden.secret,
    k: 4,
    popular: false,
    disclosed: [5],
    withoutTerms: [],
    withoutLikes: [],
  };
  const sent = new Set(Array.from(featuresOf(features, 5), (f) => readableNames(features.labels)[f]));
  for (const { label, local } of rank(request).flatMap(({ reasons }) => reasons)) expect(local).toBe(!sent.has(label));
});

function close(found: ArrayLike<number>, expected: number[], digits: number): void {
  expect(found.length).toBe(expected.length);
  expected.forEach((x, n) => expect(found[n]).toBeCloseTo(x, digits));
}
