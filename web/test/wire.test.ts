import { expect, test } from "vitest";
import { type Bytes, concat, fromHex, text, toHex, utf8 } from "../src/bytes.ts";
import { sha256, sha256Hex } from "../src/crypto/hashing.ts";
import { unseal } from "../src/crypto/sealing.ts";
import { checkSignature, signingKey } from "../src/crypto/signatures.ts";
import { unpackArrays } from "../src/message/arrays.ts";
import { applyChanges, decodeModel, decodeUpdate } from "../src/message/codec.ts";
import { message, table } from "../src/message/declaration.ts";
import { checkAdmission, invitationLink, joinProof, ownAdmission, readInvitation } from "../src/protocol/admission.ts";
import { checkElsewhere } from "../src/protocol/addresses.ts";
import { readCounts, readDescription } from "../src/protocol/description.ts";
import { LogHead, unpackEntries, unpackHashes } from "../src/protocol/log.ts";
import { SignedManifest } from "../src/protocol/manifest.ts";
import { extendsTree, includes, leafHash } from "../src/protocol/merkle.ts";
import { journalMark, letter, NO_RECEIPT, reportId, sealedShare } from "../src/protocol/report.ts";
import { FederationTerms } from "../src/protocol/terms.ts";
import { oversize, type Transport } from "../src/protocol/transport.ts";
import { checkGrown, fetchTerms, verified } from "../src/protocol/trust.ts";
import { Downloads } from "../src/device/downloads.ts";
import { ProvedHalf } from "../src/device/proved_half.ts";
import { claimOf, here, phaseOf } from "../src/device/training.ts";
import { circuitOf } from "../src/proofs/claims.ts";
import { packed } from "../src/proofs/field.ts";
import { RefusedError } from "../src/refusals.ts";
import { type Plain, vectors } from "./vectors.ts";

const { good, tampered } = vectors("wire");
const NOW = 1_700_000_030;
const hex = (digits: string): Bytes => fromHex(digits);
const terms = await FederationTerms.decode(hex(good.terms.content));
const signed = await SignedManifest.decode(hex(good.manifest.signed));
const described = readDescription(hex(good.description));
const publishes = message([table("Q", "item", 4, 2), table("b", "item", 4, 1)]);
const exact = message([
  table("counts", "item", 4, 1, "uint32", { exact: { most: Uint32Array.from(good.exact.rows), of: "device" } }),
]);

/** A coordinator that answers everything with the same bytes. */
function published(body: Bytes): Transport {
  return async ({ url, largest = Infinity }) => {
    if (body.length > largest) throw oversize(url, largest);
    return { status: 200, body, etag: "" };
  };
}

test("terms are read, named by their hash and signed by all", async () => {
  expect(terms.name).toBe(good.terms.hash);
  expect((await fetchTerms(published(hex(good.terms.signed)), "http://c", terms.hash)).name).toBe(terms.name);
  expect(await sha256Hex(hex(good.description))).toBe(terms.fields.catalogue.description);
  expect([terms.fields.method, terms.channel.minimum_cohort, terms.fields.admission]).toEqual(["cfpl", 100, "invited"]);
  expect(terms.fields.noise).toEqual(good.noise);
});

test("terms of another fingerprint are refused", async () => {
  await expect(fetchTerms(published(hex(good.terms.signed)), "http://c", new Uint8Array(32))).rejects.toThrow(
    /must be the one of the invitation/,
  );
});

test("a federation elsewhere names no aggregator on this machine", () => {
  const own = ["127.0.0.1:22", "127.1", "2130706433", "0x7f.1", "0", "localhost", "LOCALHOST.", "a.localhost"];
  const own6 = ["[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:0.0.0.0]"];
  for (const host of [...own, ...own6]) {
    const named = ["https://seed.example", `http://${host}/x`];
    expect(() => checkElsewhere("https://films.example", named)).toThrow(/elsewhere must be elsewhere, but one is at/);
    checkElsewhere("http://localhost:8400", named);
  }
  for (const host of ["127.0.0.1.example", "localhost.example", "192.0.2.1", "[2001:db8::1]"]) {
    checkElsewhere("https://films.example", [`https://${host}`]);
  }
});

test("the manifest is signed by all and in a log that grows", async () => {
  const { consistency } = good.log;
  const nobody = published(new Uint8Array());
  for (const before of [null, { size: 4, root: consistency[2].before }]) {
    const read = await verified(hex(good.manifest.signed), terms, before, nobody, "http://c");
    expect(read.manifest.name).toBe(good.manifest.hash);
  }
  const other = { size: 4, root: "00".repeat(32) };
  await expect(verified(hex(good.manifest.signed), terms, other, nobody, "http://c")).rejects.toThrow(/another past/);
  const longer = { size: 9, root: "00".repeat(32) };
  await expect(verified(hex(good.manifest.signed), terms, longer, nobody, "http://c")).rejects.toThrow(/9 entries/);
});

test("proofs of the log hold and no others", async () => {
  const entries = unpackEntries(hex(good.log.entries));
  expect(entries.map((entry) => text(entry.subarray(0, entry.indexOf(0))))).toEqual([
    "terms",
    "manifest",
    "model",
    "manifest",
    "model",
    "manifest",
  ]);
  for (const one of good.log.inclusion) {
    const proof = one.proof.map(hex);
    const root = hex(one.root);
    expect(toHex(await leafHash(entries[one.index]!))).toBe(one.leaf);
    expect(await includes(hex(one.leaf), one.index, one.size, root, proof)).toBe(true);
    expect(await includes(await leafHash(utf8("")), one.index, one.size, root, proof)).toBe(false);
  }
  for (const one of good.log.consistency) {
    const proof = one.proof.map(hex);
    const root = hex(one.root);
    expect(await extendsTree(one.first, hex(one.before), one.size, root, proof)).toBe(true);
    expect(await extendsTree(one.first, new Uint8Array(32), one.size, root, proof)).toBe(false);
  }
});

test("the admission and its links are read and written", async () => {
  const plain = good.admission;
  const own = await ownAdmission(hex(plain.own));
  expect(toHex(own.shown)).toBe(plain.shown);
  await checkAdmission(own.shown, terms, NOW);
  expect(toHex(await joinProof(own, terms.fields.federation, plain.token))).toBe(plain.join_proof);
  const invited = readInvitation(plain.link);
  const open = readInvitation(plain.link_of_an_open_federation);
  expect([invited.url, toHex(invited.terms), toHex(invited.admission!)]).toEqual([
    "https://fed.example/a",
    terms.name,
    plain.own,
  ]);
  expect([open.url, open.admission]).toEqual(["http://192.0.2.7:8000", null]);
  expect([invited, open].map(invitationLink)).toEqual([plain.link, plain.link_of_an_open_federation]);
});

test("the model is read whole or by what changed", async () => {
  const { base, changes, whole, values } = good.model;
  const { listed } = described.info;
  expect(toHex(await applyChanges(hex(base), hex(changes), publishes, listed))).toBe(whole);
  const model = await decodeModel(hex(whole), publishes, listed);
  expect(listed.map((item) => [...model.Q!.subarray(2 * item, 2 * item + 2)])).toEqual(values.Q);
  expect(listed.map((item) => model.b![item])).toEqual(values.b);
  expect(await sha256Hex(hex(whole))).toBe(signed.manifest.model.hash);
});

test.each(good.shares as Plain[])("share $kind is sealed to the last byte", async (...[plain]: Plain[]) => {
  const role = ["seed", "vector"][plain.kind]!;
  const keys = good.keys.sealing[role];
  expect(toHex(await reportId(plain.token, signed.manifest.hash))).toBe(plain.report);
  const mark = await journalMark(hex(good.receipts.salt), good.receipts.journal_head);
  expect(toHex(mark)).toBe(good.receipts.mark);
  const pass = hex(plain.pass);
  const own = await ownAdmission(hex(good.admission.own));
  const parts = {
    kind: plain.kind,
    manifest: signed.manifest.hash,
    report: hex(plain.report),
    ticket: pass.subarray(0, 64),
    receipt: plain.kind ? hex(good.receipts.seed) : NO_RECEIPT,
    mark,
    payload: hex(plain.payload),
    proved: null,
    admission: own,
    to: keys.public,
  };
  const oneTime = { pass: hex(plain.one_time_keys.pass), payload: hex(plain.one_time_keys.payload) };
  expect(toHex(await sealedShare(parts, oneTime))).toBe(plain.message);
  const fresh = await sealedShare(parts);
  expect(fresh.length).toBe(plain.message.length / 2);
  expect(toHex(fresh)).not.toBe(plain.message);
  const opened = await unseal(fresh.subarray(492), hex(keys.private), hex(plain.info.payload));
  expect(toHex(opened)).toBe(plain.payload);
  await expect(unseal(fresh.subarray(492), hex(keys.private), hex(plain.info.pass))).rejects.toThrow(/sealed/);
});

/** A vector of the proved federation: of a device of two people, which the page never has. */
async function provedUpload(plain: Plain) {
  const noisy = plain.parameters.startsWith("weighted");
  const content = await FederationTerms.decode(hex((noisy ? good.proved.noisy : good.proved).terms.content));
  const phase: string = JSON.parse(plain.manifest).phase;
  const { info } = readDescription(hex(good.proved.description));
  const counts = phase === "pairs" ? readCounts(hex(good.proved.counts), info.items) : null;
  const exchange = phaseOf(content.fields, phase, { ...info, counts });
  const multiplier = content.fields.noise.multipliers[phase] ?? 0;
  const claim = claimOf(exchange, {
    channel: content.channel,
    largest: JSON.parse(plain.manifest).largest,
    multiplier,
  })!;
  const circuit = circuitOf(claim);
  const { items } = claim.kind === "pairs" ? claim.counted : claim;
  const { item, person } = good.proved.history;
  const own = [0, 1].map((one) => {
    const mine = item.filter((_: number, n: number) => person[n] === one);
    return Array.from(items.keys()).filter((place) => mine.includes(items[place]));
  });
  const vector = circuit.vector(own);
  const half = await ProvedHalf.of(exchange, claim, vector, hex(plain.secret_of_upload), here);
  return { circuit, vector, half, seed: content.fields.seed_aggregator!, receiver: content.fields.vector_aggregator! };
}

test.each([...good.proved.exchanges, ...good.proved.noisy.exchanges] as Plain[])(
  "proved shares are sealed to the last byte, %#",
  async (...[plain]: Plain[]) => {
    const { circuit, vector, half, seed, receiver } = await provedUpload(plain);
    expect(toHex(packed(vector))).toBe(plain.vector);
    expect(toHex(packed(circuit.released(vector)))).toBe(plain.released);
    const answer = half.read(hex(plain.answers[0]));
    const payloads = [half.first, await half.second(answer)];
    expect(payloads.map(toHex)).toEqual(plain.shares.map((share: Plain) => share.payload));
    expect(payloads[1]!.length).toBe(half.length);
    const mark = hex(good.receipts.mark);
    const content = [hex(plain.hash), hex(plain.report), mark] as const;
    await checkSignature(seed.key, "receipt", concat(...content, answer.covered), answer.receipt);
    await checkSignature(receiver.key, "receipt", concat(...content), hex(plain.answers[1]));
    for (const share of plain.shares as Plain[]) {
      const parts = {
        kind: share.kind,
        manifest: hex(plain.hash),
        report: await reportId(plain.token, hex(plain.hash)),
        ticket: hex(share.pass).subarray(0, 64),
        receipt: share.kind ? answer.receipt : NO_RECEIPT,
        mark,
        payload: payloads[share.kind]!,
        proved: share.kind ? { commitment: half.commitment, challenge: answer.challenge } : null,
        admission: await ownAdmission(hex(good.admission.own)),
        to: [seed, receiver][share.kind]!.sealing_key,
      };
      const oneTime = { pass: hex(share.one_time_keys.pass), payload: hex(share.one_time_keys.payload) };
      expect(toHex(await sealedShare(parts, oneTime))).toBe(share.message);
    }
  },
);

for (const plain of good.proved.exchanges as Plain[]) {
  for (const { what, bytes: content, error } of plain.answers_refused as Plain[]) {
    test(`an answer to a seed of ${plain.parameters.split(" ")[0]} with ${what} is refused as ${error}`, async () => {
      const { half, seed } = await provedUpload(plain);
      const read = async () => {
        const { covered, receipt } = half.read(hex(content));
        const named = concat(hex(plain.hash), hex(plain.report), hex(good.receipts.mark), covered);
        await checkSignature(seed.key, "receipt", named, receipt);
      };
      const refused: unknown = await read().catch((wrong: unknown) => wrong);
      expect(refused).toMatchObject({ name: "RefusedError", code: error });
    });
  }
}

test("a letter is written, receipts, arrays and counts are read", async () => {
  const content = hex(good.manifest.hash + good.shares[0].report + good.receipts.mark);
  for (const name of ["coordinator", "seed", "vector"]) {
    await checkSignature(good.keys.signing[name].public, "receipt", content, hex(good.receipts[name]));
  }
  const coordinator = await signingKey(hex(good.keys.signing.coordinator.private));
  const named = { manifest: signed.manifest.hash, report: hex(good.shares[0].report) };
  const ticket = await coordinator.sign("ticket", named.manifest, named.report);
  const sent = hex(good.letter);
  const payload = sent.subarray(148);
  expect(toHex(letter({ ...named, ticket, mark: hex(good.receipts.mark), payload }))).toBe(good.letter);
  expect([...(unpackArrays(hex(good.arrays)).M!.values as Float32Array)]).toEqual([0, 1, 2, 3, 4, 5]);
  expect(readCounts(hex(good.counts), 4)).toEqual([90, 40, 0, 7]);
  expect((await decodeUpdate(hex(good.exact.update), exact)).tables.counts!.values[1]).toBe(70_000);
});

const fetched = (content: Bytes, name: string) => async () => {
  const whole = hex(good.model[name]);
  return new Downloads("http://c", published(content), terms).fetch(await sha256Hex(whole), whole.length, "model");
};

/** Who reads which message; the rest a device writes and never reads. */
const readers: Record<string, (content: Bytes) => Promise<unknown>> = {
  terms: (content) => FederationTerms.decodeSigned(content),
  manifest: (content) => verified(content, terms, null, published(new Uint8Array()), "http://c"),
  head: async (content) => LogHead.decode(content).check(terms),
  entries: async (content) => unpackEntries(content),
  consistency: async (content) => {
    const one = good.log.consistency[1];
    const [now, before] = [
      { size: one.size, root: one.root },
      { size: one.first, root: one.before },
    ];
    return checkGrown(now, before, unpackHashes(content), published(new Uint8Array()), "http://c");
  },
  admission: (content) => checkAdmission(content, terms, NOW),
  link: async (content) => readInvitation(text(content)),
  model: (content) => fetched(content, "whole")(),
  changes: (content) => fetched(content, "changes")(),
  "description's counts": async (content) => readCounts(content, 4),
  receipt: (content) =>
    checkSignature(
      good.keys.signing.vector.public,
      "receipt",
      hex(good.manifest.hash + good.shares[0].report + good.receipts.mark),
      content,
    ),
  exact: (content) => decodeUpdate(content, exact),
  arrays: async (content) => unpackArrays(content),
};
const written: Record<string, string> = {
  "share 0": good.shares[0].message,
  "share 1": good.shares[1].message,
  letter: good.letter,
  "join proof": good.admission.join_proof,
  "released sum": good.released.sum,
  counts: good.counts,
};

for (const { message: kind, what, bytes: content, error } of tampered as Plain[]) {
  if (kind in written) continue;
  test(`${kind}: ${what} is refused as ${error}`, async () => {
    const refused = await readers[kind]!(hex(content)).then(
      () => null,
      (wrong: unknown) => wrong,
    );
    expect(refused).toBeInstanceOf(Error);
    expect(refused instanceof RefusedError ? refused.code : "malformed").toBe(error);
  });
}

test("every kind of message is read here or written here", () => {
  const kinds = new Set((tampered as Plain[]).map((one) => one.message));
  expect([...kinds].sort()).toEqual([...Object.keys(readers), ...Object.keys(written)].sort());
  for (const one of tampered as Plain[]) expect(one.bytes).not.toBe(written[one.message]);
});

test("a share that was changed on its way does not open", async () => {
  const keys = good.keys.sealing;
  const sealed = (content: Bytes) => [content.subarray(52, 492), content.subarray(492)];
  for (const one of (tampered as Plain[]).filter(({ what }) =>
    /^(a bit of the (encapsulated|sealed)|sealed (for|to))/.test(what),
  )) {
    const [pass, payload] = sealed(hex(one.bytes)) as [Uint8Array, Uint8Array];
    const info = good.shares[0].info;
    const key = hex(keys.seed.private);
    const opened = await Promise.allSettled([
      unseal(pass, key, hex(info.pass)),
      unseal(payload, key, hex(info.payload)),
    ]);
    expect(opened.some(({ status }) => status === "rejected")).toBe(true);
  }
  expect(toHex(await sha256(concat()))).toMatch(/^e3b0c442/);
});
