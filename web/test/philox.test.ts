import { expect, test } from "vitest";
import { fromHex } from "../src/bytes.ts";
import {
  block,
  clientSecret,
  guestSecret,
  inPublicPart,
  serverSecret,
  standardNormal,
  Stream,
} from "../src/numerics/philox.ts";
import { type Plain, vectors } from "./vectors.ts";

const golden = vectors("rng");

test("blocks are those of the Random123 distribution", () => {
  for (const { counter, key, words } of golden.blocks) {
    const found = new Uint32Array(4);
    block(counter[0], counter[1], counter[2], counter[3], key, found, 0);
    expect([...found]).toEqual(words);
  }
});

test("secrets follow from the seed", () => {
  const seed = BigInt(golden.seed);
  golden.client_secrets.forEach((one: Plain, client: number) => expect(clientSecret(seed, client)).toEqual(one));
  expect(serverSecret(seed)).toEqual(golden.server_secret);
  expect(guestSecret(seed)).toEqual(golden.guest_secret);
});

test("a client finds whether it is in a public part", () => {
  for (const { seed, part, members } of golden.parts) {
    const found = members.map((_: number, place: number) => Number(inPublicPart(fromHex(seed), place, part)));
    expect(found).toEqual(members);
  }
});

test.each(golden.streams as Plain[])("every draw of a stream, purpose $purpose", (...[plain]: Plain[]) => {
  const stream = () => new Stream(plain.secret, plain.round, plain.purpose);
  const words = stream();
  expect(plain.words.map(() => words.word())).toEqual(plain.words);
  expect([...stream().wordsAt(plain.words.map((_: number, place: number) => place))]).toEqual(plain.words);
  for (const { n, draws } of plain.below) {
    const one = stream();
    expect(draws.map(() => one.below(n))).toEqual(draws);
  }
  for (const { share, heads } of plain.coins) {
    const one = stream();
    expect(heads.map(() => Number(one.coin(share)))).toEqual(heads);
  }
  expect([...stream().normals(16)]).toEqual(plain.normals);
  for (const { n, m, chosen } of plain.choose) expect(stream().choose(n, m)).toEqual(chosen);
});

test("normals at the ends of the words are finite and mirror each other", () => {
  expect(standardNormal(0)).toBe(-standardNormal(2 ** 32 - 1));
  expect(Number.isFinite(standardNormal(0))).toBe(true);
});
