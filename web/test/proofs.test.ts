import { expect, test } from "vitest";
import { concat, fromHex, toHex } from "../src/bytes.ts";
import { sha256Hex } from "../src/crypto/hashing.ts";
import type { ProvenVector } from "../src/proofs/circuit.ts";
import { CountedItems } from "../src/proofs/counted_items.ts";
import { type Elements, ELEMENT_BYTES, expanded, joined, less, MODULUS, packed } from "../src/proofs/field.ts";
import { PairWords } from "../src/proofs/pair_words.ts";
import { PairedItems } from "../src/proofs/paired_items.ts";
import { checkBytes, derived, payloadBytes, ProvenUpload } from "../src/proofs/proven_upload.ts";
import { WeightedCounts, WeightedPairs } from "../src/proofs/weighted_items.ts";
import { type Plain, vectors } from "./vectors.ts";

const golden = vectors("proofs");
const HALF = (MODULUS + 1n) / 2n; // the share of 1 of each of two aggregators

function circuitOf(one: Plain): ProvenVector {
  if (one.kind === "weighted counts") return new WeightedCounts(one.items, one.people, one.largest);
  if (one.kind === "weighted pairs") {
    return new WeightedPairs(one.people, one.largest, one.heaviest, new PairWords(one.bounds, true));
  }
  const counted = new CountedItems(one.items, one.people, one.cap);
  return one.kind === "counts" ? counted : new PairedItems(counted, one.ranked, new PairWords(one.bounds));
}

test("streams skip words that are no numbers of the field", async () => {
  expect(golden.modulus).toBe(String(MODULUS));
  for (const { seed, count, last, sha256 } of golden.streams) {
    const numbers = await expanded(fromHex(seed), count);
    expect(toHex(packed(numbers.slice(-3)))).toBe(last);
    expect(await sha256Hex(packed(numbers))).toBe(sha256);
  }
});

test.each(golden.circuits as Plain[])("$kind of $people: vector, proof and checks", async (...[one]: Plain[]) => {
  const circuit = circuitOf(one);
  const { gadget } = circuit;
  expect(circuit).toMatchObject({ length: one.length, challenges: one.challenges, linked: one.linked });
  expect({
    products: gadget.products,
    chunk: gadget.chunk,
    calls: gadget.calls,
    wire_length: gadget.wireLength,
    proof_length: gadget.proofLength,
    verifier_length: gadget.verifierLength,
  }).toEqual(one.gadget);
  const vector = circuit.vector(one.own);
  expect(toHex(packed(vector))).toBe(one.vector);
  expect(toHex(packed(circuit.released(vector)))).toBe(one.released);
  const r = await expanded(fromHex(one.challenge), circuit.challenges);
  const inputs = circuit.inputs(vector, r);
  const proof = gadget.prove(inputs.a, inputs.b, await expanded(fromHex(one.blinds), gadget.blinds));
  expect(toHex(packed(proof))).toBe(one.proof);
  const [x, own] = [
    await expanded(fromHex(one.half), circuit.length),
    await expanded(fromHex(one.half_of_proof), gadget.proofLength),
  ];
  const point = BigInt(one.point);
  const share = (vector: Elements, proof: Elements) => gadget.query(circuit.inputs(vector, r, HALF), proof, point);
  const shares = [share(x, own), share(less(vector, x), less(proof, own))];
  expect(shares.map((share) => toHex(packed(share)))).toEqual(one.checks);
  const whole = shares[0]!.map((value, i) => (value + shares[1]![i]!) % MODULUS);
  expect(gadget.accepts(whole)).toBe(true);
  for (const at of [0, 1, whole.length - 1]) {
    const changed = whole.slice();
    changed[at] = (changed[at]! + 1n) % MODULUS;
    expect(gadget.accepts(changed)).toBe(false);
  }
});

test.each(golden.uploads.exchanges as Plain[])("the upload of $phase, to the byte", async (...[one]: Plain[]) => {
  const circuit = circuitOf(one.circuit);
  const upload = await ProvenUpload.of(circuit, circuit.vector(one.circuit.own), fromHex(one.secret));
  expect(toHex(upload.first)).toBe(one.first);
  expect(toHex(concat(await derived(fromHex(one.secret), "seed"), upload.commitment))).toBe(one.first);
  const answer = fromHex(one.answer);
  const second = await upload.second(answer.subarray(0, 32), answer.subarray(32));
  expect(toHex(second)).toBe(one.second);
  const follows = one.phase === "pairs";
  expect(second.length).toBe(payloadBytes(circuit, follows));
  expect(answer.length).toBe(32 + checkBytes(circuit, follows));
});

test("parts of pairs hold all words once, and each is proved", async () => {
  const counted = new CountedItems(9, 1, 9);
  const words = new PairWords([1, 2, 3, 9, 40, 300, 5000]);
  const ranked = [8, 6, 4, 2, 0, 1, 3];
  const own = [[0, 1, 2, 4, 8]];
  const released = [0, 1, 2].map((part) => {
    const circuit = new PairedItems(counted, ranked, words, words.rowsOf(part, 3));
    const [x, r] = [circuit.vector(own), BigUint64Array.from({ length: circuit.challenges }, (_, n) => BigInt(n + 2))];
    const { gadget } = circuit;
    const verified = (x: Elements) => {
      const inputs = circuit.inputs(x, r);
      const proof = gadget.prove(inputs.a, inputs.b, new BigUint64Array(gadget.blinds).fill(5n));
      return gadget.accepts(gadget.query(inputs, proof, 3n));
    };
    expect(verified(x)).toBe(true);
    x[counted.length]! += 1n;
    expect(verified(x)).toBe(false);
    x[counted.length]! -= 1n;
    return circuit.released(x);
  });
  const whole = new PairedItems(counted, ranked, words);
  expect(joined(...released)).toEqual(whole.released(whole.vector(own)));
});

test("what is not valid is never sent, and a challenge anew gives another proof", async () => {
  const circuit = new CountedItems(20, 1, 5);
  expect(() => circuit.vector([[1, 2, 3, 4, 5, 6]])).toThrow(/cap/);
  const [secret, check] = [new Uint8Array(32), new Uint8Array(checkBytes(circuit, false))];
  for (const value of [2n, MODULUS - 1n]) {
    const vector = circuit.vector([[1, 2]]);
    vector[7] = value;
    const upload = await ProvenUpload.of(circuit, vector, secret);
    await expect(upload.second(new Uint8Array(32).fill(1), check)).rejects.toThrow(/own check/);
  }
  const upload = await ProvenUpload.of(circuit, circuit.vector([[1, 2]]), secret);
  const [one, other] = [
    await upload.second(new Uint8Array(32), check),
    await upload.second(new Uint8Array(32).fill(1), check),
  ];
  const proof = (payload: Uint8Array) => toHex(payload.subarray(-ELEMENT_BYTES * circuit.gadget.proofLength));
  expect(proof(one)).not.toBe(proof(other));
});
