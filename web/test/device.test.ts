import { beforeEach, expect, test } from "vitest";
import { text, toHex, utf8 } from "../src/bytes.ts";
import { sha256Hex } from "../src/crypto/hashing.ts";
import { type DeviceMemory, freshMemory } from "../src/device/memory.ts";
import { MemoryStorage } from "../src/device/storage.ts";
import { UnreachableError } from "../src/refusals.ts";
import { EVERYTHING, GoldenFederation, LIKES, LINK } from "./golden_federation.ts";

const ABOUT_HER = /\/(devices|tickets|reports|letters)/;
let federation: GoldenFederation;
beforeEach(async () => void (federation = await GoldenFederation.open()));

const member = (allowed?: object, storage?: MemoryStorage) => federation.member(allowed, storage);

test("a visitor looks, likes and gets a list, and nothing about her has left", async () => {
  const device = await federation.device();
  const facts = await device.look(LINK);
  expect([facts.method, facts.minimum, facts.epsilon, facts.invited]).toEqual(["cfpl", 100, null, true]);
  expect(facts.machines.map(({ url }) => new URL(url).host)).toEqual(["127.0.0.1:8000", "one.example", "two.example"]);
  await device.setLikes(LIKES);
  const { list, personal } = await device.recommend(5);
  expect([list.map(({ item }) => item), personal]).toEqual([[1], true]); // of three on offer she has two
  expect((await device.popular(5)).personal).toBe(false);
  expect(federation.requests.every(({ method, body }) => method === "GET" && !body)).toBe(true);
  expect([device.status().stage, (await device.ledger()).bytesUp]).toEqual(["visitor", 0]);
  await expect(device.visit()).rejects.toThrow(/must join/);
});

test("a member sends two shares of one vector, and the ledger has every byte", async () => {
  const device = await member();
  const told = await device.preview(1);
  const outcome = await device.visit();
  expect([outcome.kind, outcome.round, outcome.phase, outcome.disclosed]).toEqual(["sent", 2, "train", 1]);
  expect((await federation.summed()).length).toBe(1 + 3 * 3);
  const ledger = await device.ledger();
  const [entry] = ledger.entries;
  expect([entry!.countersigned, entry!.items, entry!.bytes]).toEqual([true, [0, 3], federation.bytes(/reports/)]);
  expect(ledger.bytesUp).toBe(federation.bytes(/./));
  expect(told.bytes).toBe(federation.bytes(/reports|tickets/));
  expect(told.messages.map(({ bytes }) => bytes)).toEqual(
    federation.requests.filter(({ url }) => /reports|tickets/.test(url)).map(({ body }) => body!.length),
  );
  expect((await device.visit()).kind).toBe("idle");
  expect(federation.requests.filter(({ url }) => /reports/.test(url)).length).toBe(2);
});

test("the token is shown to the coordinator alone", async () => {
  await (await member()).visit();
  for (const { url, headers } of federation.requests) {
    if (!url.startsWith("http://127.0.0.1:8000")) expect(headers).not.toHaveProperty("authorization");
  }
});

test("who allows nothing sends nothing", async () => {
  const device = await federation.device();
  await device.look(LINK);
  await device.setLikes(LIKES);
  await device.join();
  const outcome = await device.visit();
  expect([outcome.kind, outcome.why]).toEqual(["declined", "no consent to training"]);
  expect(federation.bytes(/tickets|reports/)).toBe(0);
});

test("an item that is never shared is in no update", async () => {
  const device = await member({ ...EVERYTHING, never: [3] });
  const { shared, kept, update } = await device.preview(1);
  expect([shared, kept]).toEqual([[0], [3]]);
  expect([...update!.tables[0]!.index]).not.toContain(3);
  expect((await device.visit()).disclosed).toBe(0.5);
});

test("consent that is taken back while the upload waits cancels it", async () => {
  const device = await member();
  federation.meddle = async (request, reply) => {
    if (/tickets/.test(request.url)) await device.allow({ pi: 0 });
    return reply;
  };
  const outcome = await device.visit();
  expect([outcome.kind, federation.bytes(/reports/)]).toEqual(["declined", 0]);
  expect(outcome.why).toMatch(/taken back/);
});

test("consent that is taken back between the shares lets no byte more leave", async () => {
  const device = await member();
  federation.meddle = async (request, reply) => {
    if (/one.example/.test(request.url)) await device.allow({ train: false });
    return reply;
  };
  expect((await device.visit()).kind).toBe("declined");
  expect(federation.requests.filter(({ url }) => /two.example/.test(url))).toEqual([]);
});

test("a share that is on its way is stopped when consent is taken back", async () => {
  const device = await member();
  let stopped = false;
  federation.meddle = async (request, reply) => {
    if (!/one.example/.test(request.url)) return reply;
    request.signal!.addEventListener("abort", () => (stopped = true));
    await device.allow({ train: false });
    throw new UnreachableError("it was stopped.");
  };
  expect((await device.visit()).kind).toBe("declined");
  expect(stopped).toBe(true);
  expect(federation.requests.filter(({ url }) => /example/.test(url)).length).toBe(1);
});

test("changed terms are refused, said, and agreed to by her alone", async () => {
  const storage = new MemoryStorage();
  const device = await member(EVERYTHING, storage);
  const { terms, manifest } = await federation.renewed((now) =>
    now.replace('"minimum_cohort":100', '"minimum_cohort":5'),
  );
  federation.meddle = (request, reply) => {
    const body = /\/terms$/.test(request.url) ? terms : /\/round$/.test(request.url) ? manifest : reply.body;
    return { ...reply, body };
  };
  await expect(device.visit()).rejects.toThrow(/terms must stay as they were joined.*minimum_cohort 100 → 5/);
  expect(device.status().offered).toEqual(["channel.minimum_cohort 100 → 5"]);
  expect(federation.bytes(/tickets|reports/)).toBe(0);
  const again = await federation.device(storage);
  expect(again.status().offered).toHaveLength(1);
  await again.acceptTerms();
  expect([again.status().offered, again.status().federation!.minimum]).toEqual([[], 5]);
  await expect(again.acceptTerms()).rejects.toThrow(/there are none/);
});

test("the end of a log that nobody has any more is said, and pinned by her alone", async () => {
  const storage = new MemoryStorage();
  const device = await member(EVERYTHING, storage);
  expect((await device.visit()).kind).toBe("sent");
  const root = "ab".repeat(32);
  const { terms, manifest } = await federation.renewed((now) =>
    now.replace('"method"', `"lost":{"entries":1,"root":"${root}","serial":1048576},"method"`),
  );
  federation.meddle = (request, reply) => {
    const body = /\/terms$/.test(request.url) ? terms : /\/round$/.test(request.url) ? manifest : reply.body;
    return { ...reply, body };
  };
  await expect(device.visit()).rejects.toThrow(/the servers lost the log after entry 1 and all copies of it/);
  expect(device.status().offered).toHaveLength(1);
  await device.acceptTerms();
  expect((await storage.read<DeviceMemory>("memory"))!.log).toEqual({ size: 1, root });
});

test("after a crash between the shares the same upload is sent again", async () => {
  const storage = new MemoryStorage();
  const device = await member(EVERYTHING, storage);
  federation.meddle = (request, reply) => {
    if (/two.example/.test(request.url)) throw new Error("the tab is closed");
    return reply;
  };
  await expect(device.visit()).rejects.toThrow(/tab is closed/);
  federation.meddle = (_, reply) => reply;
  const again = await federation.device(storage);
  expect((await again.visit()).kind).toBe("sent");
  const [seed, , seedAgain] = federation.payloads.map(toHex);
  expect(seedAgain).toBe(seed);
  expect((await again.ledger()).entries.length).toBe(1);
});

test("a machine that does not answer is asked again until the round is over", async () => {
  const device = await member();
  federation.meddle = (request, reply) => {
    if (/one.example/.test(request.url)) throw new UnreachableError("it must answer, but does not.");
    return reply;
  };
  const outcome = await device.visit();
  expect([outcome.kind, outcome.why]).toEqual([
    "refused",
    "https://one.example/reports did not answer before the round was over.",
  ]);
  expect(federation.requests.filter(({ url }) => /one.example/.test(url)).length).toBeGreaterThan(10);
});

test.each([
  ["a model of another hash", /\/m\/bffc/, /must have it, but has another/],
  ["a manifest with a bit flipped", /\/round$/, /must be/],
  ["a receipt of nobody", /one.example/, /receipt's signature/],
])("%s is refused and said", async (_, path, why) => {
  const storage = new MemoryStorage();
  await member(EVERYTHING, storage);
  await storage.write({ "public/model": undefined });
  const fresh = await federation.device(storage);
  federation.meddle = (request, reply) => {
    if (!path.test(request.url)) return reply;
    const body = reply.body.slice();
    body[20]! ^= 1;
    return { ...reply, body };
  };
  const said = await fresh.visit().then(
    (outcome) => `${outcome.kind}: ${outcome.why}`,
    (error: Error) => error.message,
  );
  expect(said).toMatch(why);
  expect(federation.requests.filter(({ url }) => /two.example/.test(url))).toEqual([]);
});

test("another manifest under one number is refused", async () => {
  const storage = new MemoryStorage();
  const device = await member(EVERYTHING, storage);
  await device.visit();
  const memory = (await storage.read<{ manifest: string }>("memory"))!;
  await storage.write({ memory: { ...memory, manifest: "00".repeat(32) } });
  await expect(device.visit()).rejects.toThrow(/two different manifests/);
});

test("a larger minimum than the federation's is held to", async () => {
  const device = await federation.device();
  await device.look(LINK);
  await device.allow(EVERYTHING);
  await device.join({ minimum: 500 });
  expect((await device.visit()).why).toMatch(/sum of 100 devices, but this one wants at least 500/);
});

test("noise that is asked for and not added keeps the device out", async () => {
  const device = await member({ ...EVERYTHING, epsilon: 4 });
  expect((await device.visit()).why).toMatch(/no noise is added/);
});

test("a list of somebody else leaves no trace: not in what is kept, not in the own list, not in an upload", async () => {
  const storage = new MemoryStorage();
  const device = await member(EVERYTHING, storage);
  const [kept, own] = [await storage.list(""), await device.recommend(5)];
  const as = [{ item: 1, time: null, value: 1 }];
  const made = await device.recommend(5, { as });
  expect(made.list.map(({ item }) => item).sort()).toEqual([0, 3]); // on offer without what the other has
  expect([await storage.list(""), device.likes()]).toEqual([kept, LIKES]);
  expect((await device.recommend(5)).list).toEqual(own.list);
  expect((await device.visit()).kind).toBe("sent");
  expect((await device.ledger()).entries.map(({ items }) => items)).toEqual([[0, 3]]);
  // also afterwards, when there is a trained state that is her own
  expect((await device.recommend(5, { as })).list).toEqual(made.list);
});

test.each([false, true])("sums without noise that everybody can read are joined by a tick alone: %s", async (exact) => {
  const settings = '{"core_items":0,"discount":0.0,"eigenvectors":0,"recency":0.0}';
  const { terms } = await federation.renewed((now) =>
    now.replace('"method":"cfpl"', '"method":"fed-mostpop"').replace(/"settings":\{[^}]*\}/, `"settings":${settings}`),
  );
  federation.meddle = (request, reply) => {
    if (/\/round$/.test(request.url))
      return { status: 503, body: utf8('{"error":"paused","message":"no."}'), etag: "" };
    return /\/terms$/.test(request.url) ? { ...reply, body: terms } : reply;
  };
  const hash = Buffer.from(await sha256Hex(terms.slice(192)), "hex").toString("base64url");
  const device = await federation.device();
  const facts = await device.look(LINK.replace(/#2\.[\w-]{43}/, `#2.${hash}`));
  expect([facts.exact, facts.exactAllowed]).toEqual([true, false]);
  if (exact) await device.join({ exact });
  else await expect(device.join()).rejects.toThrow(/must have noise, but have none in this federation; allow it/);
  expect([device.status().stage, device.status().federation!.exactAllowed]).toEqual([
    exact ? "member" : "visitor",
    exact,
  ]);
  expect(federation.bytes(ABOUT_HER) > 0).toBe(exact);
});

test("a ledger that was changed lets nothing more leave", async () => {
  const storage = new MemoryStorage();
  const device = await member(EVERYTHING, storage);
  await storage.write({ memory: { ...freshMemory("11".repeat(32)), lines: 1 } });
  const outcome = await device.visit();
  expect([outcome.kind, federation.bytes(/reports/)]).toEqual(["declined", 0]);
  expect(outcome.why).toMatch(/ledger must/);
});

test("what was exported moves to another browser, once", async () => {
  const device = await member();
  const text = (await device.visit(), await device.exportAll());
  const other = await federation.device();
  await other.restore(text);
  expect([other.status().stage, other.likes(), other.permission().pi]).toEqual(["member", LIKES, 1]);
  expect((await other.ledger()).entries).toEqual((await device.ledger()).entries);
  expect((await other.visit()).kind).toBe("idle"); // answered already
  await expect(other.restore(text)).rejects.toThrow(/no likes and no place/);
  await expect((await federation.device()).restore("{}")).rejects.toThrow(/must be one that this page wrote/);
});

test("leaving tells the coordinator and deletes everything", async () => {
  const storage = new MemoryStorage();
  const device = await member(EVERYTHING, storage);
  await device.visit();
  expect(await device.leave()).toBe(null);
  expect(federation.requests.at(-1)).toMatchObject({ method: "DELETE", url: "http://127.0.0.1:8000/devices/me" });
  expect(await storage.list("")).toEqual([]);
  expect(device.status()).toMatchObject({ stage: "empty", likes: 0 });
  expect(await device.ledger()).toMatchObject({ entries: [], traffic: [], bytesUp: 0 });
});

test("leaving in the middle of a round writes nothing anew", async () => {
  const storage = new MemoryStorage();
  const device = await member(EVERYTHING, storage);
  federation.meddle = async (request, reply) => {
    if (/tickets/.test(request.url)) await device.leave();
    return reply;
  };
  await expect(device.visit()).rejects.toThrow(/deleted/);
  expect([await storage.list(""), federation.bytes(/reports/)]).toEqual([[], 0]);
});

test("an invitation to other terms, and likes that are none, are refused", async () => {
  const device = await federation.device();
  const other = LINK.replace(/#2\.[\w-]{43}/, `#2.${"A".repeat(43)}`);
  await expect(device.look(other)).rejects.toThrow(/must be the one of the invitation/);
  expect(device.status().stage).toBe("empty");
  await device.look(LINK);
  await expect(device.setLikes([{ item: 4, time: null, value: 1 }])).rejects.toThrow(
    /must be items of this federation/,
  );
  await expect(device.allow({ pi: 2 })).rejects.toThrow(/between 0 and 1/);
  expect(device.find(["plum", "kiwi"])).toEqual([2, null]);
  expect(federation.bytes(ABOUT_HER)).toBe(0);
});

test("who took part in an older version is told so, and can begin anew", async () => {
  const storage = new MemoryStorage();
  await member(EVERYTHING, storage);
  const identity = (await storage.read<{ terms: Uint8Array }>("identity"))!;
  const older = utf8(text(identity.terms).replace('"protocol":3', '"protocol":2'));
  await storage.write({ identity: { ...identity, terms: older } });
  const device = await federation.device(storage);
  expect(device.status().stage).toBe("empty");
  await expect(device.look(LINK)).rejects.toThrow(/in an older version of this one; leave that one first/);
  await device.leave();
  const anew = await federation.device(storage);
  expect([(await anew.look(LINK)).invited, anew.status().stage]).toEqual([true, "visitor"]);
});
