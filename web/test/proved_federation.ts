/** The proved federation of the golden vectors as a network: its aggregators answer seeds and check every proof. */

import { type Bytes, concat, equal, fromHex, toHex, u32, u64, utf8 } from "../src/bytes.ts";
import { sha256 } from "../src/crypto/hashing.ts";
import type { Device, DeviceParts } from "../src/device/browser_device.ts";
import { type DeviceStorage, MemoryStorage } from "../src/device/storage.ts";
import { phaseOf } from "../src/device/training.ts";
import type { Like } from "../src/device/types.ts";
import { readCounts, readDescription } from "../src/protocol/description.ts";
import { leafHash } from "../src/protocol/merkle.ts";
import { circuitOf } from "../src/proofs/claims.ts";
import { type Elements, expanded, MODULUS } from "../src/proofs/field.ts";
import { checkBytes, derived } from "../src/proofs/proven_upload.ts";
import type { HttpReply, HttpRequest } from "../src/protocol/transport.ts";
import { FederationTerms } from "../src/protocol/terms.ts";
import { EVERYTHING, GoldenFederation, good, LINK, opened, signingKeys } from "./golden_federation.ts";

export const { proved } = good;
export const OWN: Like[] = [0, 2, 3, 5].map((item) => ({ item, time: null, value: 1 }));
const hex = (digits: string): Bytes => fromHex(digits);
const terms = await FederationTerms.decode(hex(proved.terms.content));
const name = Buffer.from(terms.hash).toString("base64url");
export const PROVED_LINK = LINK.replace(/#2\.[\w-]{43}/, `#2.${name}`);

export class ProvedFederation extends GoldenFederation {
  exchange = 0; // which round is open
  readonly answered: Bytes[] = []; // by the seed aggregator
  readonly released: Elements[] = []; // what each checked upload adds to a sum
  private commitment: Bytes = new Uint8Array();

  static override async open(): Promise<ProvedFederation> {
    return new ProvedFederation(await signingKeys());
  }

  /** A member with four likes, who allows sums without noise. */
  async counted(storage: DeviceStorage = new MemoryStorage(), more?: Partial<DeviceParts>): Promise<Device> {
    const device = await this.device(storage, more);
    this.meddle = (request, reply) => (/round/.test(request.url) ? PAUSED : reply); // no round is open yet
    await device.look(PROVED_LINK);
    await device.setLikes(OWN);
    await device.allow(EVERYTHING);
    await device.join({ minimum: 1, exact: true });
    this.meddle = (_, reply) => reply;
    return device;
  }

  protected override async answer(request: HttpRequest): Promise<Bytes | null> {
    const { host, pathname } = new URL(request.url);
    if (pathname === "/terms") return concat(await this.signedByAll("terms", terms.content), terms.content);
    if (pathname === "/round") return this.round();
    if (pathname.startsWith("/m/")) {
      const published = [hex(proved.description), hex(proved.counts)];
      const names = await Promise.all(published.map(async (one) => toHex(await sha256(one))));
      return published[names.indexOf(pathname.slice(3))] ?? null;
    }
    if (pathname !== "/reports") return super.answer(request);
    return host === "one.example" ? this.seed(request.body!) : this.vector(request.body!);
  }

  /** The open round, in a log of the terms and of both rounds. */
  private async round(): Promise<Bytes> {
    const contents = proved.exchanges.map((one: { manifest: string }) => utf8(one.manifest));
    const entries = [concat(utf8("terms\0"), terms.content)];
    for (const content of contents.slice(0, this.exchange + 1)) entries.push(concat(utf8("manifest\0"), content));
    const leaves = await Promise.all(entries.map(leafHash));
    const first = await sha256(Uint8Array.of(1), leaves[0]!, leaves[1]!);
    const root = this.exchange ? await sha256(Uint8Array.of(1), first, leaves[2]!) : first;
    const size = entries.length;
    const { federation } = terms.fields;
    const head = utf8(`{"federation":"${federation}","root":"${toHex(root)}","size":${size}}`);
    const proof = this.exchange ? [Uint8Array.of(1, 1), first, leaves[2]!] : [Uint8Array.of(1, 0), leaves[0]!];
    const content: Bytes = contents[this.exchange];
    return concat(
      await this.signedByAll("manifest", content),
      u32(content.length),
      content,
      u64(size),
      root,
      await this.signedByAll("head", head),
      u64(size - 1),
      u64(this.exchange && 2),
      ...proof,
    );
  }

  private circuit() {
    const { info } = readDescription(hex(proved.description));
    const counts = this.exchange ? readCounts(hex(proved.counts), info.items) : null;
    const phase = phaseOf(terms.fields, ["counts", "pairs"][this.exchange]!, { ...info, counts });
    return { circuit: circuitOf(phase.claim!), follows: phase.follows !== "" };
  }

  /** As the seed aggregator: the same answer to the same report. */
  private async seed(share: Bytes): Promise<Bytes> {
    const { pass, payload } = await opened(0, share);
    this.payloads.push(payload);
    const { circuit, follows } = this.circuit();
    this.commitment = payload.slice(32);
    const challenge = await sha256(payload);
    const check = new Uint8Array(checkBytes(circuit, follows)).fill(7);
    const mark = pass.subarray(128, 160);
    const signed = await this.keys.seed!.sign("receipt", share.subarray(4, 52), mark, this.commitment, challenge);
    const answer = concat(signed, challenge, check);
    this.answered.push(answer);
    return answer;
  }

  /** As the vector aggregator, who here knows the seed too and checks the whole proof. */
  private async vector(share: Bytes): Promise<Bytes> {
    const { pass, payload } = await opened(1, share);
    const answer = this.answered.at(-1)!;
    const seed = this.payloads.at(-1)!.subarray(0, 32);
    this.payloads.push(payload);
    const { circuit, follows } = this.circuit();
    const challenge = answer.subarray(64, 96);
    const start = 64 + checkBytes(circuit, follows);
    const half = payload.subarray(start, start + 8 * circuit.length);
    const committed = await sha256(utf8("murmura commitment\0"), payload.subarray(0, 32), half);
    const named = [
      pass.subarray(264, 296),
      pass.subarray(296, 328),
      payload.subarray(32, 64),
      payload.subarray(64, start),
    ];
    const expected = [this.commitment, challenge, challenge, answer.subarray(96)];
    if (!named.every((one, n) => equal(one, expected[n]!)) || !equal(committed, this.commitment)) {
      throw new Error("a half must be committed to and be proved for its challenge");
    }
    const x = sum(await expanded(seed, circuit.length), unpacked(half));
    const own = await expanded(await derived(seed, "half", challenge), circuit.gadget.proofLength);
    const proof = sum(own, unpacked(payload.subarray(start + half.length)));
    const r = await expanded(challenge, circuit.challenges);
    if (!circuit.gadget.accepts(circuit.gadget.query(circuit.inputs(x, r), proof, 3n))) {
      throw new Error("the proof must hold");
    }
    this.released.push(circuit.released(x));
    return this.keys.vector!.sign("receipt", share.subarray(4, 52), pass.subarray(128, 160));
  }
}

const PAUSED: HttpReply = { status: 503, body: utf8('{"error":"paused","message":"no round."}'), etag: "" };
const unpacked = (bytes: Bytes): Elements => new BigUint64Array(bytes.slice().buffer);

function sum(one: Elements, other: Elements): Elements {
  return one.map((value, n) => (value + other[n]!) % MODULUS);
}
