/** Who pinned the terms, what a device survives, and two tabs of one browser. */

import "fake-indexeddb/auto";
import { beforeEach, expect, test } from "vitest";
import { fromHex, text, utf8 } from "../src/bytes.ts";
import { federationFacts } from "../src/device/facts.ts";
import type { Identity } from "../src/device/memory.ts";
import { IndexedDbStorage, MemoryStorage } from "../src/device/storage.ts";
import type { Like } from "../src/device/types.ts";
import type { FederationInfo } from "../src/channel/layout.ts";
import { FederationTerms } from "../src/protocol/terms.ts";
import { UnreachableError } from "../src/refusals.ts";
import { GoldenFederation, good, LINK } from "./golden_federation.ts";

const PLAIN = LINK.replace(/(#2\.[\w-]{43}).*/, "$1"); // as the server says it: without an admission
const HERE = "http://127.0.0.1:8000";
const like = (item: number): Like => ({ item, time: null, value: 1 });
let federation: GoldenFederation;
beforeEach(async () => void (federation = await GoldenFederation.open()));

test("what the server says is no invitation, also after a reload; a link is one", async () => {
  const storage = new MemoryStorage();
  const facts = await (await federation.device(storage)).look(PLAIN, "server");
  expect([facts.pinnedBy, facts.invited]).toEqual(["server", false]);
  const again = await federation.device(storage);
  expect(again.status().federation).toMatchObject({ pinnedBy: "server", invited: false });
  await expect(again.join()).rejects.toThrow(/by an invitation/);
  expect(federation.requests.every(({ method, body }) => method === "GET" && !body)).toBe(true);
  expect(await again.look(LINK)).toMatchObject({ pinnedBy: "invitation", invited: true });
  expect(await again.look(PLAIN, "server")).toMatchObject({ pinnedBy: "invitation", invited: true });
});

test("terms that admit everyone let in whom a link brought, not whom the server told of them", async () => {
  const { admitter } = JSON.parse(text(fromHex(good.terms.content)));
  const open = text(fromHex(good.terms.content)).replace('"invited"', '"open"').replace(admitter, "");
  const terms = await FederationTerms.decode(utf8(open));
  const of = (pinnedBy: string | undefined) =>
    federationFacts({ url: HERE, admission: null, pinnedBy } as Identity, terms, { clients: 1 } as FederationInfo);
  expect([of("invitation").invited, of("server").invited, of(undefined).invited]).toEqual([true, false, false]);
});

test("a description that fails leaves nothing behind, and the next look works", async () => {
  const storage = new MemoryStorage();
  const device = await federation.device(storage);
  federation.meddle = (request, reply) => (/\/m\//.test(request.url) ? { ...reply, body: utf8("forged") } : reply);
  await expect(device.look(LINK)).rejects.toThrow(/must have it/);
  expect([await storage.read("identity"), device.status().stage]).toEqual([undefined, "empty"]);
  federation.meddle = (_, reply) => reply;
  await device.look(LINK);
  expect(device.status().stage).toBe("visitor");
});

test("what is kept but of no use makes an empty device, which looks again or deletes", async () => {
  const storage = new MemoryStorage();
  await (await federation.device(storage)).look(LINK);
  const identity = (await storage.read<Identity>("identity"))!;
  for (const name of ["public/description", "public/model"]) await storage.write({ [name]: undefined });
  federation.meddle = () => {
    throw new UnreachableError("nobody answers.");
  };
  const offline = await federation.device(storage);
  expect(offline.status().stage).toBe("empty");
  federation.meddle = (_, reply) => reply;
  await offline.look(PLAIN, "server");
  expect([offline.status().stage, await storage.read("identity")]).toEqual(["visitor", identity]);
  await storage.write({ identity: { ...identity, terms: utf8("{}") } });
  const broken = await federation.device(storage);
  expect(broken.status().stage).toBe("empty");
  expect([await broken.leave(), await storage.list("")]).toEqual([null, []]);
});

test("a file with a forged identity is refused before anything is kept", async () => {
  const device = await federation.device();
  await device.look(LINK);
  await device.setLikes([like(0)]);
  const whole = JSON.parse(await device.exportAll());
  const changed = (identity: object, more = {}) =>
    JSON.stringify({
      ...whole,
      values: { ...whole.values, identity: { ...whole.values.identity, ...identity }, ...more },
    });
  const bytes = (hex: string) => ({ array: "Uint8Array", bytes: hex });
  const forgeries: [string, RegExp][] = [
    [changed({ url: "https://evil.example" }), /must be of the page at/],
    [changed({ terms: bytes("7b7d") }), /version/],
    [changed({ terms: "x" }), /which device/],
    [changed({ admission: bytes("00") }), /which device/],
    [changed({ token: "x" }), /which device/],
    [changed({ secret: [1] }), /which device/],
    [changed({ place: -1 }), /which device/],
    [changed({}, { identity: undefined }), /which device/],
    [changed({}, { likes: [like(99)] }), /must be items/],
    [changed({}, { likes: 7 }), /must be items/],
    [changed({}, { permission: { pi: 2, never: [] } }), /between 0 and 1/],
    [changed({}, { "traffic/": [null] }), /must be one that this page wrote/],
  ];
  const storage = new MemoryStorage();
  const other = await federation.device(storage, { origin: HERE });
  for (const [forged, why] of forgeries) await expect(other.restore(forged), String(why)).rejects.toThrow(why);
  expect([await storage.read("identity"), await storage.read("likes")]).toEqual([undefined, undefined]);
  await other.restore(changed({}));
  expect([other.status().stage, other.likes()]).toEqual(["visitor", [like(0)]]);
});

test("two tabs lose neither likes nor what is never shared", async () => {
  const one = await federation.device(await IndexedDbStorage.open("tabs"));
  await one.look(LINK);
  const two = await federation.device(await IndexedDbStorage.open("tabs"));
  await Promise.all([one.like([like(0)], true), two.like([like(3)], true), one.never(0, true), two.never(3, true)]);
  await one.like([like(1)], true);
  await two.like([like(0)], false);
  await two.allow({ pi: 0.5 });
  expect(two.likes().map(({ item }) => item)).toEqual([3, 1]);
  expect([...two.permission().never].sort()).toEqual([0, 3]);
  expect((await one.never(0, false)).never).toEqual([3]);
  expect(one.permission().pi).toBe(0.5);
  await expect(one.like([like(9)], true)).rejects.toThrow(/must be items/);
  await expect(one.allow({ pi: 2 })).rejects.toThrow(/between 0 and 1/);
  expect(one.permission().pi).toBe(0.5);
});

test.each([" ", "; script-src *", ",x", "/*", "'", "/?a", "/#a", ":x"])(
  "terms whose aggregator's address goes on with '%s' are refused",
  async (more) => {
    const content = text(fromHex(good.terms.content)).replace("https://one.example", `https://one.example${more}`);
    await expect(FederationTerms.decode(utf8(content))).rejects.toThrow(/address/);
  },
);
