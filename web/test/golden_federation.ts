/** The federation of the golden vectors as a network: its three machines answer a device with their own keys. */

import { type Bytes, concat, fromHex, text, utf8 } from "../src/bytes.ts";
import { Ring } from "../src/channel/ring.ts";
import { expand } from "../src/channel/shares.ts";
import { sha256Hex } from "../src/crypto/hashing.ts";
import { unseal } from "../src/crypto/sealing.ts";
import { type SigningKey, signingKey } from "../src/crypto/signatures.ts";
import { Device, type DeviceParts } from "../src/device/browser_device.ts";
import { type DeviceStorage, MemoryStorage } from "../src/device/storage.ts";
import { here } from "../src/device/training.ts";
import type { Like } from "../src/device/types.ts";
import { Stream } from "../src/numerics/philox.ts";
import type { HttpReply, HttpRequest, Transport } from "../src/protocol/transport.ts";
import { vectors } from "./vectors.ts";

export const { good } = vectors("wire");
export const LINK: string = good.admission.link.replace("fed.example/a", "127.0.0.1:8000");
export const LIKES: Like[] = [0, 3].map((item) => ({ item, time: null, value: 1 }));
export const EVERYTHING = { train: true, statistics: true, pi: 1 };
const hex = (digits: string): Bytes => fromHex(digits);

export class GoldenFederation {
  time = 1_700_000_030;
  readonly requests: HttpRequest[] = [];
  readonly payloads: Bytes[] = []; // of shares, opened
  /** What a test does to a reply, or throws, before the device gets it. */
  meddle: (request: HttpRequest, reply: HttpReply) => HttpReply | Promise<HttpReply> = (_, reply) => reply;

  private readonly drawn = new Stream([3, 4], 0, 1024); // in place of the system's: tests are the same every time

  protected constructor(protected readonly keys: Record<string, SigningKey>) {}

  static async open(): Promise<GoldenFederation> {
    return new GoldenFederation(await signingKeys());
  }

  /** A device in it; with the storage of another one it is that one after a restart. */
  device(storage: DeviceStorage = new MemoryStorage(), more: Partial<DeviceParts> = {}): Promise<Device> {
    return Device.open({
      storage,
      send: this.send,
      trainer: here,
      clock: () => this.time,
      entropy: (bytes) => Uint8Array.from({ length: bytes }, () => this.drawn.word()),
      sleep: async (seconds) => void (this.time += seconds),
      alone: (work) => work(),
      ...more,
    });
  }

  /** A member with two likes who allows what is given. */
  async member(allowed: object = EVERYTHING, storage?: DeviceStorage, more?: Partial<DeviceParts>): Promise<Device> {
    const device = await this.device(storage, more);
    await device.look(LINK);
    await device.setLikes(LIKES);
    await device.allow(allowed);
    await device.join();
    return device;
  }

  /** Terms that all three machines sign, and the open round under them. */
  async renewed(change: (terms: string) => string): Promise<{ terms: Bytes; manifest: Bytes }> {
    const terms = utf8(change(text(hex(good.terms.content))));
    const shown = hex(good.manifest.signed);
    const length = new DataView(shown.buffer).getUint32(192, true);
    const content = utf8(text(shown.subarray(196, 196 + length)).replace(good.terms.hash, await sha256Hex(terms)));
    const manifest = concat(
      await this.signedByAll("manifest", content),
      shown.subarray(192, 196),
      content,
      shown.subarray(196 + length),
    );
    return { terms: concat(await this.signedByAll("terms", terms), terms), manifest };
  }

  protected async signedByAll(purpose: string, content: Bytes): Promise<Bytes> {
    return concat(...(await Promise.all(Object.values(this.keys).map((key) => key.sign(purpose, content)))));
  }

  readonly send: Transport = async (request) => {
    this.requests.push(request);
    const body = await this.answer(request);
    const status = body === null ? 404 : 200;
    const said = body ?? utf8('{"error":"unknown","message":"there is no such thing."}');
    return this.meddle(request, { status, body: said, etag: "" });
  };

  /** Bytes that left the device for these paths. */
  bytes(path: RegExp): number {
    return this.requests.filter(({ url }) => path.test(url)).reduce((sum, { body }) => sum + (body?.length ?? 0), 0);
  }

  /** The vector that both shares of an upload add up to. */
  async summed(): Promise<number[]> {
    const [seed, other] = this.payloads.slice(-2) as [Bytes, Bytes];
    const ring = new Ring(32, other.length / 4);
    return [...ring.sum(await expand(seed, ring), ring.unpack(other))];
  }

  protected async answer({ url, body }: HttpRequest): Promise<Bytes | null> {
    const { host, pathname } = new URL(url);
    const { catalogue } = JSON.parse(text(hex(good.terms.content)));
    if (pathname === "/reports") return this.receipt(host === "one.example" ? 0 : 1, body!);
    const [, room, name] = pathname.split("/");
    if (room === "terms") return hex(good.terms.signed);
    if (room === "round" && !name) return hex(good.manifest.signed);
    if (room === "m") return name === catalogue.description ? hex(good.description) : hex(good.model.whole);
    if (room === "devices" && name) return utf8('{"left":true}');
    if (room === "devices") return utf8(JSON.stringify({ token: JSON.parse(text(body!)).token, slot: 7 }));
    if (room === "tickets") return this.keys.coordinator!.sign("ticket", body!);
    return null;
  }

  /** As an aggregator: open the share, countersign the journal. */
  private async receipt(kind: 0 | 1, share: Bytes): Promise<Bytes> {
    const { role, pass, payload } = await opened(kind, share);
    this.payloads.push(payload);
    return this.keys[role]!.sign("receipt", share.subarray(4, 52), pass.subarray(128, 160));
  }
}

export async function signingKeys(): Promise<Record<string, SigningKey>> {
  const names = ["coordinator", "seed", "vector"];
  const keys = await Promise.all(names.map((name) => signingKey(hex(good.keys.signing[name].private))));
  return Object.fromEntries(names.map((name, n) => [name, keys[n]!]));
}

/** Pass and payload of a share, opened by the aggregator it is for. */
export async function opened(kind: 0 | 1, share: Bytes): Promise<{ role: string; pass: Bytes; payload: Bytes }> {
  const role = ["seed", "vector"][kind]!;
  const key = hex(good.keys.sealing[role].private);
  const info = (part: string) =>
    concat(utf8(`murmura ${part}\0`), share.subarray(4, 36), Uint8Array.of(kind), share.subarray(36, 52));
  const pass = await unseal(share.subarray(52, 492), key, info("pass"));
  return { role, pass, payload: await unseal(share.subarray(492), key, info("payload")) };
}
