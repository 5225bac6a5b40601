/** What no longer leaves: after a pause, after consent is taken back, after everything is deleted. */

import "fake-indexeddb/auto";
import { beforeEach, expect, test } from "vitest";
import { sha256Hex } from "../src/crypto/hashing.ts";
import { fromHex, utf8 } from "../src/bytes.ts";
import { Records } from "../src/device/records.ts";
import { IndexedDbStorage, MemoryStorage } from "../src/device/storage.ts";
import { declared } from "../src/device/traffic.ts";
import type { VisitOutcome } from "../src/device/types.ts";
import type { HttpReply } from "../src/protocol/transport.ts";
import { UnreachableError } from "../src/refusals.ts";
import { LogHead } from "../src/protocol/log.ts";
import { EVERYTHING, GoldenFederation, good, LINK } from "./golden_federation.ts";

let federation: GoldenFederation;
beforeEach(async () => void (federation = await GoldenFederation.open()));

const OPEN = { never: [], epsilon: null }; // what nobody has decided
const asked = (path: RegExp) => federation.requests.filter(({ url }) => path.test(url)).length;
const refusal = (status: number, error: string): HttpReply => ({
  status,
  body: utf8(JSON.stringify({ error, message: "no." })),
  etag: "",
});
const lost = refusal(401, "unauthorised");

/** The outcomes of staying until `pause` aborts it. */
async function staying(device: Awaited<ReturnType<typeof federation.member>>, pause: AbortController) {
  const told: VisitOutcome[] = [];
  await device.stay(pause.signal, (outcome) => told.push(outcome));
  return told.map(({ kind, why }) => `${kind}: ${why}`);
}

test("a pause while the upload waits for its time lets nothing leave", async () => {
  const pause = new AbortController();
  const sleep = async (seconds: number) => {
    federation.time += seconds;
    pause.abort();
  };
  const device = await federation.member(EVERYTHING, new MemoryStorage(), { sleep });
  expect(await staying(device, pause)).toEqual(["declined: its owner has paused this device, so nothing more leaves."]);
  expect([asked(/tickets/), asked(/reports/), federation.requests.at(-1)!.purpose]).toEqual([1, 0, "ticket"]);
});

test.each(["shorter", "other"])(
  "a device keeps all while a %s log is shown, and goes on when it is there again",
  async (log) => {
    const pause = new AbortController();
    const storage = new MemoryStorage();
    const records = new Records(storage);
    const slept: number[] = [];
    const sleep = async (seconds: number) => {
      federation.time += slept.length ? seconds : 0; // the round shown is still that of the time
      slept.push(seconds);
      if (slept.length > 1) return;
      expect(await records.memory()).toEqual(kept);
      expect(asked(/tickets|reports/)).toBe(0);
      await records.keep(seen);
    };
    const device = await federation.member(EVERYTHING, storage, { sleep });
    const told: VisitOutcome[] = [];
    const seen = await records.memory();
    const size = log === "shorter" ? 1000 : LogHead.decode(fromHex(good.log.head)).size;
    const kept = await records.keep({ ...seen, log: { size, root: "00".repeat(32) } });
    await device.stay(pause.signal, (outcome) => {
      told.push(outcome);
      if (outcome.kind === "sent") pause.abort();
    });
    expect(told.map(({ kind }) => kind)).toEqual(["gone-back", "sent"]);
    expect(told[0]!.why).toMatch(
      /^the servers have gone back .*; it sends nothing, keeps everything and looks again later\.$/,
    );
    expect(slept[0]).toBeGreaterThanOrEqual(300);
  },
);

test("a pause stops a share on its way, and it is not tried again", async () => {
  const pause = new AbortController();
  const device = await federation.member();
  let stopped = false;
  federation.meddle = (request, reply) => {
    if (!/one.example/.test(request.url)) return reply;
    request.signal!.addEventListener("abort", () => (stopped = true));
    pause.abort();
    throw new UnreachableError("it was stopped.");
  };
  expect(await staying(device, pause)).toEqual([expect.stringMatching(/^declined: .*paused/)]);
  expect([stopped, asked(/reports/)]).toEqual([true, 1]);
});

test("a pause between the look at the round and the ticket asks for none", async () => {
  const pause = new AbortController();
  const device = await federation.member();
  federation.meddle = (request, reply) => {
    if (/\/round$/.test(request.url)) pause.abort();
    return reply;
  };
  expect(await staying(device, pause)).toEqual([expect.stringMatching(/^declined: .*paused/)]);
  expect(asked(/tickets|reports/)).toBe(0);
});

test.each([1, 2])("a pause holds after a reload: a hundred looks in %d tabs make no request", async (tabs) => {
  const storage = new MemoryStorage();
  await (await federation.member(EVERYTHING, storage)).allow({ paused: true });
  const opened = await Promise.all(Array.from({ length: tabs }, () => federation.device(storage)));
  const before = federation.requests.length;
  for (let look = 0; look < 100; look++) {
    for (const tab of opened) expect((await tab.visit()).kind).toBe("idle");
  }
  expect(federation.requests.length).toBe(before);
  expect(opened.map((tab) => tab.permission())).toEqual(opened.map(() => ({ ...EVERYTHING, paused: true, ...OPEN })));
  await opened.at(-1)!.allow({ paused: false });
  expect([(await opened[0]!.visit()).kind, asked(/reports/)]).toEqual(["sent", 2]);
});

test.each([
  ["the look and the ticket", /\/round$/, 0, 0],
  ["the ticket and the first share", /tickets/, 1, 0],
  ["the two shares", /one.example/, 1, 1],
])("a pause in another tab between %s lets nothing more leave", async (_, path, tickets, reports) => {
  const storage = new MemoryStorage();
  const device = await federation.member(EVERYTHING, storage);
  const other = await federation.device(storage);
  federation.meddle = async (request, reply) => {
    if (path.test(request.url)) await other.allow({ paused: true });
    return reply;
  };
  expect((await device.visit()).why).toMatch(/paused/);
  expect([asked(/tickets/), asked(/reports/)]).toEqual([tickets, reports]);
});

test("a share on its way is stopped by the tab that hears of another one's pause", async () => {
  const storage = new MemoryStorage();
  const device = await federation.member(EVERYTHING, storage);
  const other = await federation.device(storage);
  let stopped = false;
  federation.meddle = async (request, reply) => {
    if (!/one.example/.test(request.url)) return reply;
    request.signal!.addEventListener("abort", () => (stopped = true));
    await other.allow({ paused: true });
    await device.reread();
    throw new UnreachableError("it was stopped.");
  };
  expect((await device.visit()).why).toMatch(/paused/);
  expect([stopped, asked(/reports/), device.permission().paused]).toEqual([true, 1, true]);
});

test("what tells of her is not even written down during a pause; what is public is fetched", async () => {
  const storage = new MemoryStorage();
  const sent: string[] = [];
  const send = declared(
    async ({ method }) => {
      sent.push(method);
      return { status: 200, body: utf8(""), etag: "" };
    },
    storage,
    () => 0,
  );
  await storage.write({ permission: { paused: true } });
  for (const method of ["POST", "DELETE"] as const) {
    await expect(send({ method, url: "https://a.example/b", purpose: "ticket" })).rejects.toThrow(/paused/);
  }
  expect(await storage.list("traffic/")).toEqual([]);
  await send({ method: "GET", url: "https://a.example/m/1", purpose: "model" });
  await storage.write({ permission: { paused: false } });
  await send({ method: "POST", url: "https://a.example/b", purpose: "ticket", body: utf8("a") });
  expect([sent, (await storage.list("traffic/")).length]).toEqual([["GET", "POST"], 2]);
});

test("two tabs that send at once have a line each", async () => {
  const storage = await IndexedDbStorage.open("two tabs");
  const send = declared(
    async () => ({ status: 200, body: utf8(""), etag: "" }),
    storage,
    () => 0,
  );
  const request = { method: "POST", url: "https://a.example/b", purpose: "ticket" } as const;
  await Promise.all(["a", "b", "c"].map((body) => send({ ...request, body: utf8(body) })));
  expect((await storage.list<{ id: number }>("traffic/")).map(({ id }) => id)).toEqual([1, 2, 3]);
});

test("a ticket that got no answer is not asked for again once consent is taken back", async () => {
  const device = await federation.member();
  federation.meddle = async (request, reply) => {
    if (!/tickets/.test(request.url)) return reply;
    await device.allow({ train: false });
    throw new UnreachableError("it must answer, but does not.");
  };
  const outcome = await device.visit();
  expect([outcome.kind, asked(/tickets/), federation.requests.at(-1)!.signal!.aborted]).toEqual(["declined", 1, true]);
  expect(outcome.why).toMatch(/taken back/);
});

test("a place that was lost is taken anew with consent alone", async () => {
  const device = await federation.member();
  let gone = true;
  federation.meddle = (request, reply) => {
    if (/devices$/.test(request.url)) gone = false;
    return gone && /tickets/.test(request.url) ? lost : reply;
  };
  expect([(await device.visit()).kind, asked(/devices$/)]).toEqual(["sent", 2]);

  federation = await GoldenFederation.open();
  const other = await federation.member();
  federation.meddle = async (request, reply) => {
    if (!/tickets/.test(request.url)) return reply;
    await other.allow({ train: false });
    return lost;
  };
  expect([(await other.visit()).kind, asked(/devices$/), asked(/tickets/)]).toEqual(["declined", 1, 1]);
});

test("who deletes everything allows nothing before the coordinator is told, and a round at work ends", async () => {
  const storage = new MemoryStorage();
  const device = await federation.member(EVERYTHING, storage);
  let leaving: Promise<string | null> | null = null;
  let allowed: unknown = null;
  let answered = () => {};
  const held = new Promise<void>((resolve) => (answered = resolve));
  federation.meddle = async (request, reply) => {
    if (request.method === "DELETE") {
      allowed = await storage.read("permission");
      await held; // the coordinator takes its time, and the round goes on
    }
    if (!/tickets/.test(request.url)) return reply;
    const deleting = new Promise((resolve) => request.signal!.addEventListener("abort", resolve));
    leaving = device.leave();
    await deleting;
    return lost; // it would take a place anew
  };
  const outcome = await device.visit();
  expect([outcome.kind, asked(/devices$/), asked(/reports/)]).toEqual(["declined", 1, 0]);
  answered();
  expect(await leaving).toBe(null);
  expect(allowed).toMatchObject({ train: false, statistics: false, pi: 0 });
  expect(await storage.list("")).toEqual([]);
});

test.each([
  [3599, false],
  [3600, true],
  [0, true],
])("release windows of %d seconds are joined: %s", async (seconds, joins) => {
  const { terms } = await federation.renewed((now) =>
    now.replace(/("windows":\{[^}]*"seconds":)[\d.]+/, `$1${seconds.toFixed(1)}`),
  );
  federation.meddle = (request, reply) => {
    if (/\/round$/.test(request.url)) return refusal(503, "paused");
    return /\/terms$/.test(request.url) ? { ...reply, body: terms } : reply;
  };
  const hash = fromHex(await sha256Hex(terms.slice(192)));
  const device = await federation.device();
  await device.look(LINK.replace(/#2\.[\w-]{43}/, `#2.${Buffer.from(hash).toString("base64url")}`));
  if (joins) await device.join();
  else await expect(device.join()).rejects.toThrow(/must last at least 3600 seconds, but lasts 3599: .* do not join/);
  expect([asked(/devices/), device.status().stage]).toEqual(joins ? [1, "member"] : [0, "visitor"]);
});
