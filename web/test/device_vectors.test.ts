import { expect, test } from "vitest";
import { fromHex, toHex } from "../src/bytes.ts";
import { composed, deltaOf, epsilonOf, logNormal } from "../src/channel/accountant.ts";
import { Chain } from "../src/channel/chain.ts";
import type { FederationInfo } from "../src/channel/layout.ts";
import { channelSettings } from "../src/channel/settings.ts";
import { extendRecord, stickyConsent, stickyLimit } from "../src/device/consent.ts";
import { entryText, journalFiles, type JournalLine, link, START, verifyJournal } from "../src/device/journal.ts";
import { decodeModel } from "../src/message/codec.ts";
import { mark, message, spelled, table } from "../src/message/declaration.ts";
import { Cfpl } from "../src/methods/cfpl.ts";
import { Cooccurrence } from "../src/methods/cooccurrence.ts";
import { methodOf } from "../src/methods/registry.ts";
import { claimOf } from "../src/device/training.ts";
import type { History } from "../src/methods/method.ts";
import { RankedItems } from "../src/methods/ranked_items.ts";
import { Rng } from "../src/numerics/philox.ts";
import { plainVector, provenVector } from "../src/proofs/claims.ts";
import { packed } from "../src/proofs/field.ts";
import { checkNoise } from "../src/protocol/noise.ts";
import { type Plain, vectors } from "./vectors.ts";

const golden = vectors("device");
const info: FederationInfo = { ...golden.public, counts: null };
const counted: FederationInfo = { ...info, counts: golden.counts };
const own = (more: Partial<History> = {}): History => ({
  item: Int32Array.from(golden.own),
  value: new Float64Array(5).fill(1),
  consent: new Float64Array(5).fill(1),
  time: Float64Array.from(golden.time),
  ...more,
});

test.each(golden.consent as Plain[])("sticky decisions at pi $pi, never $never", (...[plain]: Plain[]) => {
  const { pi, never, items, before } = plain;
  const joined = extendRecord(before, never, items, pi, golden.secret);
  expect(joined).toEqual(plain.joined);
  expect([...stickyConsent(joined, never, items, pi)]).toEqual(plain.consent);
  expect(stickyLimit(0.29, 100)).toBe(29);
});

test.each(golden.packing as Plain[])("pairs of items that occur $least times", (...[plain]: Plain[]) => {
  const { items, pairs } = new RankedItems(golden.counts, plain.least);
  expect([items, pairs.words]).toEqual([plain.items, plain.words]);
  const words = new BigUint64Array(pairs.words);
  const ranks = golden.own.map((item: number) => items.indexOf(item)).filter((rank: number) => rank >= 0);
  ranks.sort((a: number, b: number) => a - b);
  pairs.addInto(words, ranks);
  expect(Array.from(words, String)).toEqual(plain.packed);
});

test.each(golden.steps as Plain[])("a visit of sums, $phase", async (...[plain]: Plain[]) => {
  const method = Cooccurrence.of(plain.settings);
  const known = plain.phase === "counts" ? info : counted;
  const phase = method.phases(known).find(({ name }) => name === plain.phase)!;
  expect([await spelled(phase.sends), await mark(phase.sends)]).toEqual([plain.sends, plain.mark]);
  const before = new Uint8Array(10);
  const history = own({ consent: Float64Array.from(golden.consents) });
  for (const item of plain.counted) before[item] = 1;
  const rng = new Rng(golden.secret, golden.round);
  const context = { info: known, phase: phase.name, round: golden.round, model: {} };
  const { state, update } = method.clientStep(context, { counted: before }, history, rng);
  const proved = provenVector(phase.claim!, update.own!);
  expect(toHex(packed(proved))).toBe(plain.proved);
  expect(toHex(packed(plainVector(phase.claim!, proved)))).toBe(plain.vector);
  expect([...state.counted!].flatMap((bit, item) => (bit ? [item] : []))).toEqual(plain.counted_after);
  expect(method.clientDiscloses(phase, update, history).map(Number)).toEqual(plain.shown);
});

test.each(golden.ranking as Plain[])("scores by weights, %#", async (...[plain]: Plain[]) => {
  const method = Cooccurrence.of(plain.settings);
  expect(await spelled(method.publishes(counted))).toBe(plain.publishes);
  const model = await decodeModel(fromHex(plain.model), method.publishes(counted), info.listed);
  expect(method.publicCounts(model)).toEqual(golden.counts.map((n: number, item: number) => (item === 4 ? 0 : n)));
  const history = own({ value: Float64Array.from(plain.value) });
  const scores = method.clientScore({ info: counted, phase: "ready", round: golden.round, model }, {}, history);
  plain.scores.forEach((score: number, item: number) => expect(scores[item]).toBeCloseTo(score, 4));
});

test.each(golden.normalised as Plain[])("a visit of sums that bear noise, $phase", async (...[plain]: Plain[]) => {
  const { settings, multiplier } = plain;
  const method = methodOf({ method: "fed-ease", settings });
  const known = plain.phase === "counts" ? info : counted;
  const phase = method.phases(known).find(({ name }) => name === plain.phase)!;
  expect(await spelled(phase.sends)).toBe(plain.sends);
  const rng = new Rng(golden.secret, golden.round);
  const history = own({ consent: Float64Array.from(golden.consents) });
  const context = { info: known, phase: phase.name, round: golden.round, model: {} };
  const { update } = method.clientStep(context, {}, history, rng);
  const channel = channelSettings(golden.channel);
  const claim = claimOf(phase, { channel, largest: golden.cohort, multiplier })!;
  const proved = provenVector(claim, update.own!);
  expect(toHex(packed(proved))).toBe(plain.proved);
  expect(toHex(packed(plainVector(claim, proved)))).toBe(plain.vector);
  const open = { ...channel, channel: "readable" as const };
  expect(claimOf(phase, { channel: open, largest: golden.cohort, multiplier })).toBeNull();
  const of = { sends: phase.sends, repeats: false, longest: phase.longest, cohort: golden.cohort, multiplier };
  expect([...Chain.of(channel, known, of).device(update, rng, golden.round)]).toEqual(plain.rounded);
  expect(method.clientDiscloses(phase, update, history).map(Number)).toEqual(plain.shown);
});

test.each(golden.weights as Plain[])(
  "weights of $cohort devices, $multiplier noise, $bits bits",
  (...[plain]: Plain[]) => {
    const { bits, cohort, multiplier, few } = plain;
    const own = golden.public.listed.filter((_: number, place: number) => place % 2 === 0);
    for (const kind of ["counts", "pairs"] as const) {
      const size = { bits, cohort, multiplier };
      const vector = provenVector({ kind: `weighted ${kind}`, items: golden.public.listed, people: 1, few, size }, own);
      expect(toHex(packed(vector))).toBe(plain[kind]);
    }
  },
);

test("scores by vectors of the most frequent items", async () => {
  const { settings, publishes, model, scores } = golden.low_rank;
  const method = methodOf({ method: "fed-ease", settings });
  expect(await spelled(method.publishes(counted))).toBe(publishes);
  const tables = await decodeModel(fromHex(model), method.publishes(counted), info.listed);
  const context = { info: counted, phase: "ready", round: golden.round, model: tables };
  const found = method.clientScore(context, {}, own());
  info.listed.forEach((item) => expect(found[item]).toBeCloseTo(scores[item], 4));
  const alike = method.likeness(context, 9, [3, 1])!;
  expect([alike[0] === 0, alike[1]]).toEqual([false, 0]); // item 1 is too rare
});

test.each(golden.factors as Plain[])("who comes later, in $settings.precision", async (...[plain]: Plain[]) => {
  const method = Cfpl.of(plain.settings);
  const rng = new Rng(golden.secret, golden.round + 1);
  const digits = 5;
  const model = await decodeModel(fromHex(plain.model), method.publishes(info), info.listed);
  const context = { info, phase: "ready", round: golden.round + 1, model };
  const folded = method.clientFoldIn(context, own(), rng);
  const first = method.clientInit(info, own(), new Rng(golden.secret));
  const ready = method.clientReady(context, first, own(), rng);
  const scores = method.clientScore(context, folded);
  plain.fold_in.forEach((x: number, f: number) => expect(folded.p![f]).toBeCloseTo(x, digits));
  plain.ready.forEach((x: number, f: number) => expect(ready.p![f]).toBeCloseTo(x, digits));
  info.listed.forEach((item) => expect(scores[item]).toBeCloseTo(plain.scores[item], 4));
});

const lines: JournalLine[] = golden.journal.entries.map(({ event: _, ...entry }: Plain, n: number) => ({
  entry,
  hash: golden.journal.heads[n],
  items: [],
}));

test("the journal has the hashes of `murmura ledger`", async () => {
  let head = START;
  for (const { entry, hash } of lines) expect((head = await link(head, entry))).toBe(hash);
  await verifyJournal(lines, 3, head);
  const read = journalFiles(lines)
    ["journal.jsonl"]!.trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(read).toEqual(
    golden.journal.lines.map((line: string) => {
      const { entry, hash } = JSON.parse(line);
      return { entry: Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null)), hash };
    }),
  );
  expect(entryText(lines[1]!.entry)).toContain('"disclosed":1.0,');
});

test("a journal that was changed is refused", async () => {
  const [first, second, third] = lines as [JournalLine, JournalLine, JournalLine];
  const head = third.hash;
  const edited = { ...first, entry: { ...first.entry, bytes: 1171 } };
  for (const wrong of [[second, third], [first, third, second], [first, second], [edited, second, third], []]) {
    await expect(verifyJournal(wrong, 3, head)).rejects.toThrow(/ledger must/);
  }
});

test.each(golden.noise as Plain[])("noise bounds what it says and no less", (...[plain]: Plain[]) => {
  checkNoise(plain.good);
  expect(() => checkNoise(plain.bad)).toThrow(/must bound what is revealed/);
  const { epsilon, delta, multipliers, answers } = plain.good;
  const mu = composed(Object.keys(answers).map((name) => [multipliers[name], answers[name]] as const));
  expect(epsilonOf(mu, delta)).toBeCloseTo(epsilon, 7);
  expect(deltaOf(mu, epsilon) / delta).toBeCloseTo(1, 7);
  for (const changed of [{ unit: "a click" }, { delta: 0 }, { answers: {} }]) {
    expect(() => checkNoise({ ...plain.good, ...changed })).toThrow(/noise must/);
  }
});

test.each(golden.noisy as Plain[])("an update to a sum with noise, multiplier $multiplier", (...[plain]: Plain[]) => {
  const sends = message([table("items", "item", 10, 3)]);
  const { multiplier } = plain;
  const of = { sends, repeats: true, longest: null, cohort: golden.cohort, multiplier };
  const rows = { index: Int32Array.from(plain.index), values: Float32Array.from(plain.values.flat()) };
  const chain = Chain.of(channelSettings(plain.settings), info, of);
  const vector = chain.device(
    { tables: { items: rows }, scalars: {} },
    new Rng(golden.secret, golden.round),
    golden.round,
  );
  expect([...vector]).toEqual(plain.vector);
});

test("noise that no aggregator can draw is refused", () => {
  const sends = message([table("items", "item", 10, 3)]);
  const settings = channelSettings(golden.noisy[0].settings);
  const of = { sends, repeats: true, longest: null, cohort: golden.cohort, multiplier: 1e-6 };
  expect(() => Chain.of(settings, info, of)).toThrow(/noise must be of 16 to 8192 steps/);
});

test("the normal distribution by known values", () => {
  for (const [x, phi] of [
    [0, 0.5],
    [-1, 0.15865525393145707],
    [-3, 0.0013498980316300933],
    [2, 0.9772498680518208],
  ] as const) {
    expect(Math.exp(logNormal(x)) / phi).toBeCloseTo(1, 12);
  }
  expect(logNormal(-40)).toBeCloseTo(-804.6084420137538, 9);
});
