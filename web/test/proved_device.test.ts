/** A member of a federation whose sums are proved: two messages, the second one made for the answer to the first. */

import { beforeEach, expect, test, vi } from "vitest";
import { fromHex, text, toHex, utf8 } from "../src/bytes.ts";
import { checkReceipt, Records } from "../src/device/records.ts";
import { MemoryStorage } from "../src/device/storage.ts";
import { checkPhase } from "../src/device/checks.ts";
import { here, phaseOf } from "../src/device/training.ts";
import { Cooccurrence } from "../src/methods/cooccurrence.ts";
import type { ClientState } from "../src/methods/method.ts";
import { Rng } from "../src/numerics/philox.ts";
import { provenVector } from "../src/proofs/claims.ts";
import { readDescription } from "../src/protocol/description.ts";
import { FederationTerms } from "../src/protocol/terms.ts";
import type { HttpReply, HttpRequest } from "../src/protocol/transport.ts";
import { good } from "./golden_federation.ts";
import { OWN, proved, ProvedFederation } from "./proved_federation.ts";

let federation: ProvedFederation;
let storage: MemoryStorage;
beforeEach(async () => {
  federation = await ProvedFederation.open();
  storage = new MemoryStorage();
});

const asked = (path: RegExp) => federation.requests.filter(({ url }) => path.test(url)).length;
const unanswered = (path: RegExp) => (request: HttpRequest, reply: HttpReply) => {
  if (path.test(request.url)) throw new Error("the tab is closed");
  return reply;
};
const nothing = (_: HttpRequest, reply: HttpReply) => reply;

test("both exchanges are proved, and the preview told every byte", async () => {
  const device = await federation.counted(storage);
  for (const phase of ["counts", "pairs"]) {
    const before = federation.requests.length;
    const outcome = await device.visit();
    expect([outcome.kind, outcome.phase, outcome.why]).toEqual(["sent", phase, ""]);
    const left = federation.requests.slice(before).filter(({ url }) => /tickets|reports/.test(url));
    const told = await device.preview(1); // of the round seen last
    expect(told.phase).toBe(phase);
    expect(told.messages.map(({ bytes }) => bytes)).toEqual(left.map(({ body }) => body!.length));
    expect(left.map(({ body }) => body!.length).slice(1)).toEqual(
      proved.exchanges[federation.exchange].shares.map((one: { message: string }) => one.message.length / 2),
    );
    expect([...told.update!.tables[0]!.index]).toEqual([0, 2, 3, 5]);
    federation.exchange = 1;
  }
  expect(Array.from(federation.released[0]!, Number)).toEqual([1, 0, 1, 1, 1, 0, 0]);
  expect(federation.released[1]!.some((word) => word > 0n)).toBe(true);
  const { entries, bytesUp } = await device.ledger();
  expect(entries.map(({ items, countersigned }) => [items, countersigned])).toEqual([
    [[0, 2, 3, 5], true],
    [[0, 2, 3, 5], true],
  ]);
  expect(bytesUp).toBe(federation.bytes(/./));
  expect(entries.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(federation.bytes(/reports/));
});

test("a receipt covers commitment and challenge, and no others", async () => {
  await (await federation.counted(storage)).visit();
  const [receipt] = await new Records(storage).receipts();
  const terms = await FederationTerms.decode(fromHex(proved.terms.content));
  await checkReceipt(receipt!, terms);
  const other = receipt!.proved!.replace(/^../, (byte) => (byte === "00" ? "01" : "00"));
  for (const covered of ["", other]) {
    await expect(checkReceipt({ ...receipt!, proved: covered }, terms)).rejects.toThrow(/signature/);
  }
});

test.each([/one.example/, /two.example/])(
  "a tab closed at the answer of %s goes on with the same secret and answers alike",
  async (path) => {
    const device = await federation.counted(storage);
    federation.meddle = unanswered(path);
    await expect(device.visit()).rejects.toThrow(/tab is closed/);
    const before = federation.payloads.map(toHex);
    federation.meddle = nothing;
    const again = await federation.device(storage);
    expect((await again.visit()).kind).toBe("sent");
    const [first, second] = federation.payloads.slice(-2).map(toHex);
    expect(before).toEqual([first, second].slice(0, before.length));
    const answers = new Set(federation.answered.map((answer) => toHex(answer.subarray(64))));
    expect([answers.size, (await again.ledger()).entries.length]).toEqual([1, 1]);
  },
);

test("another answer to the same seed gets another proof, of other random values", async () => {
  const device = await federation.counted(storage);
  federation.meddle = unanswered(/two.example/);
  await expect(device.visit()).rejects.toThrow(/tab is closed/);
  const secret = fromHex((await new Records(storage).memory()).pending!.seed);
  const made = await device.preview(1);
  const claim = { kind: "counts", items: [0, 1, 2, 3, 5, 6, 7], people: 2, cap: 7 } as const;
  const check = new Uint8Array(8);
  const vector = made.vector as BigUint64Array<ArrayBuffer>;
  const [one, other] = await Promise.all(
    [1, 2].map((n) => here.prove({ claim, vector, secret, challenge: new Uint8Array(32).fill(n), check })),
  );
  const start = 64 + check.length + 8 * vector.length;
  expect(toHex(one!.subarray(0, 32))).toBe(toHex(other!.subarray(0, 32)));
  expect(toHex(one!.subarray(start))).not.toBe(toHex(other!.subarray(start)));
});

test.each([
  ["an item is no longer shared", "declined"],
  ["an item was added", "sent"],
])("pairs after counts, where %s: %s", async (change, kind) => {
  const device = await federation.counted(storage);
  expect((await device.visit()).kind).toBe("sent");
  federation.exchange = 1;
  if (kind === "declined") await device.never(3, true);
  else await device.setLikes([...OWN, { item: 7, time: null, value: 1 }]);
  const outcome = await device.visit();
  expect([change, outcome.kind, asked(/reports/)]).toEqual([change, kind, kind === "sent" ? 4 : 2]);
  if (kind === "declined") expect(outcome.why).toMatch(/must be what phase 'counts' counted.* sits the exchange out/);
});

test.each((proved.exchanges[0].answers_refused as { what: string; error: string }[]).map((one) => [one.what]))(
  "an answer of the seed aggregator with %s is refused, and no second message leaves",
  async (what) => {
    const device = await federation.counted(storage);
    const content = { "a bit of the receipt flipped": 0, "another challenge": 70 }[what];
    federation.meddle = (request, reply) => {
      if (!/one.example/.test(request.url)) return reply;
      const body = reply.body.slice();
      if (content !== undefined) body[content]! ^= 1;
      if (what === "a receipt of what is not proved") body.set(fromHex(good.receipts.seed));
      const cut = { "the receipt alone": 64, "a byte too long": body.length + 1 }[what];
      const whole = new Uint8Array(cut ?? body.length);
      whole.set(body.subarray(0, whole.length));
      return { ...reply, body: whole };
    };
    const outcome = await device.visit();
    expect([outcome.kind, asked(/two.example/)]).toEqual(["refused", 0]);
    expect(outcome.why).toMatch(/signature|an answer to a seed must have/);
  },
);

test("with a cap, pairs are of what was counted, also when items were added since", () => {
  const method = Cooccurrence.of({ ...JSON.parse(text(fromHex(proved.terms.content))).settings, cap: 2 });
  const { info } = readDescription(fromHex(proved.description));
  const step = (phase: string, item: number[], state: ClientState) => {
    const consent = new Float64Array(item.length).fill(1);
    const history = { item: Int32Array.from(item), value: consent, consent, time: null };
    return method.clientStep({ info, phase, round: 0, model: {} }, state, history, new Rng([7, 9], 0));
  };
  const { state, update } = step("counts", [0, 2, 3, 5], method.clientInit(info));
  expect([...update.own!]).toEqual([2, 5]);
  for (const item of [
    [0, 2, 3, 5],
    [0, 1, 2, 3, 5, 6, 7],
  ]) {
    expect([...step("pairs", item, state).update.own!]).toEqual([2, 5]);
  }
});

test("a description of no people, or of more than an upload can hold, is refused", () => {
  const content = text(fromHex(proved.description));
  const described = (people: number) => readDescription(utf8(content.replace('"people":2', `"people":${people}`)));
  expect(() => described(0)).toThrow(/must have the fields/);
  const { info } = described(10 ** 9);
  const [counts] = Cooccurrence.of(JSON.parse(text(fromHex(proved.terms.content))).settings).phases(info);
  expect(() => provenVector(counts!.claim!, [0])).toThrow(/must have at most 67108864 bytes/);
});

test("pairs of a federation that is open to everybody are refused, as nothing links them", async () => {
  const terms = await FederationTerms.decode(fromHex(proved.terms.content));
  const open = Object.assign(Object.create(terms), { fields: { ...terms.fields, admission: "open" } });
  const { info } = readDescription(fromHex(proved.description));
  const [counts, pairs] = ["counts", "pairs"].map((name) => phaseOf(terms.fields, name, info));
  for (const phase of [counts!, pairs!]) checkPhase(phase, terms, 100);
  checkPhase(counts!, open, 100);
  expect(() => checkPhase(pairs!, open, 100)).toThrow(/must be of admitted devices/);
});

test("a proof that an aggregator does not accept is said, and nothing more is sent", async () => {
  const device = await federation.counted(storage);
  const body = utf8('{"error":"invalid","message":"a proof must hold, but does not."}');
  federation.meddle = (request, reply) => (/two.example/.test(request.url) ? { ...reply, status: 409, body } : reply);
  const outcome = await device.visit();
  expect([outcome.kind, outcome.why]).toEqual(["refused", "a proof must hold, but does not."]);
  expect((await device.visit()).kind).toBe("idle");
});

test("proofs are made where training is, and consent is asked after them", async () => {
  const prove = vi.fn(here.prove);
  const device = await federation.counted(storage, { trainer: { ...here, prove } });
  prove.mockImplementation(async (request) => {
    await device.allow({ train: false });
    return here.prove(request);
  });
  expect((await device.visit()).why).toMatch(/taken back/);
  expect([prove.mock.calls.length, asked(/two.example/)]).toEqual([1, 0]);
});
