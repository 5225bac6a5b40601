import { expect, test } from "vitest";
import { fromHex, toHex } from "../src/bytes.ts";
import { Chain } from "../src/channel/chain.ts";
import { channelSettings } from "../src/channel/settings.ts";
import { expand, otherShare } from "../src/channel/shares.ts";
import { decodeModel, encodeUpdate } from "../src/message/codec.ts";
import { spelled } from "../src/message/declaration.ts";
import { Cfpl } from "../src/methods/cfpl.ts";
import { drawTriples } from "../src/methods/triples.ts";
import type { History } from "../src/methods/method.ts";
import { methodOf } from "../src/methods/registry.ts";
import { Purpose, Rng } from "../src/numerics/philox.ts";
import { readDescription } from "../src/protocol/description.ts";
import { FederationTerms } from "../src/protocol/terms.ts";
import { golden, history, info } from "./training_world.ts";
import { type Plain, vectors } from "./vectors.ts";

const STEPS = (golden.steps as Plain[]).filter(({ method }) => method === "cfpl");

test.each(STEPS)("a step of $method, $phase in $settings.precision", async (...[plain]: Plain[]) => {
  const method = Cfpl.of(plain.settings);
  const rng = new Rng(golden.secret, golden.round);
  const exchange = method.phases(info).find(({ name }) => name === plain.phase)!;
  expect(await spelled(method.publishes(info))).toBe(plain.publishes);
  expect(await spelled(exchange.sends)).toBe(plain.sends);
  const before = method.clientInit(info, history, new Rng(golden.secret));
  expect([...before.p!]).toEqual(plain.before);
  if (plain.triples) checkTriples(plain, rng);
  const model = await decodeModel(fromHex(plain.model), method.publishes(info), info.listed);
  const context = { info, phase: plain.phase, round: golden.round, model };
  const { state, update } = method.clientStep(context, before, history, rng);
  const rows = Object.values(update.tables)[0]!;
  expect([...rows.index]).toEqual(plain.rows.index);
  const digits = plain.settings.precision === "float32" ? 5 : 12;
  plain.rows.values.flat().forEach((x: number, n: number) => expect(rows.values[n]).toBeCloseTo(x, digits));
  plain.after.forEach((x: number, n: number) => expect(state.p![n]).toBeCloseTo(x, digits));
  const of = {
    sends: exchange.sends,
    repeats: exchange.repeat === null,
    longest: null,
    cohort: golden.largest,
    multiplier: 0,
  };
  const chain = Chain.of(channelSettings(golden.channel), info, of);
  const vector = chain.device(update, rng, golden.round);
  expect([...vector]).toEqual(plain.vector);
  expect(toHex(chain.ring.pack(await otherShare(vector, fromHex(golden.seed), chain.ring)))).toBe(plain.other_share);
});

function checkTriples(plain: Plain, rng: Rng): void {
  for (const [name, purpose] of [
    ["warm", Purpose.WARM],
    ["triples", Purpose.TRIPLES],
  ] as const) {
    const { own, other } = drawTriples(info, history, plain[name].length, rng.stream(purpose));
    expect(own.map((place, t) => [history.item[place], other[t]])).toEqual(plain[name]);
  }
}

const wire = vectors("wire").good;

test.each(wire.steps as Plain[])("the step of the wire, $phase", async (...[plain]: Plain[]) => {
  const terms = await FederationTerms.decode(fromHex(wire.terms.content));
  const method = methodOf(terms.fields);
  const { info: public_ } = readDescription(fromHex(wire.description));
  const exchange = method.phases(public_).find(({ name }) => name === plain.phase)!;
  const model = await decodeModel(fromHex(plain.model), method.publishes(public_), public_.listed);
  const own: History = {
    item: Int32Array.from(plain.history.item),
    value: Float64Array.from(plain.history.value),
    consent: Float64Array.from(plain.history.consent),
    time: null,
  };
  const rng = new Rng(plain.secret, plain.round);
  const state = { p: Float64Array.from(plain.state.p) };
  const step = method.clientStep({ info: public_, phase: plain.phase, round: plain.round, model }, state, own, rng);
  if (plain.phase === "prior") expect(toHex(await encodeUpdate(step.update, exchange.sends))).toBe(plain.update);
  const of = { sends: exchange.sends, repeats: exchange.repeat === null, longest: null, cohort: 200, multiplier: 0 };
  const chain = Chain.of(terms.channel, public_, of);
  const vector = chain.device(step.update, rng, plain.round);
  expect([...vector]).toEqual(plain.ring_vector);
  if (plain.phase === "train") {
    const [seed, other] = wire.shares.map((one: Plain) => fromHex(one.payload));
    expect([...chain.ring.sum(await expand(seed, chain.ring), chain.ring.unpack(other))]).toEqual(plain.ring_vector);
  }
});
