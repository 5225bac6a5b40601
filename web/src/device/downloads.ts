/** What is published under a hash: fetched once, checked against its name, kept for the next round and offline. */

import type { Bytes } from "../bytes.ts";
import type { FederationInfo } from "../channel/layout.ts";
import { sha256Hex } from "../crypto/hashing.ts";
import { applyChanges, decodeModel, type Tables } from "../message/codec.ts";
import { type MessageSpec, modelBytes, narrowed } from "../message/declaration.ts";
import { readFeatures } from "../methods/item_features.ts";
import type { Method } from "../methods/method.ts";
import { methodOf } from "../methods/registry.ts";
import { type Description, readCounts, readDescription } from "../protocol/description.ts";
import type { Manifest } from "../protocol/manifest.ts";
import type { FederationTerms } from "../protocol/terms.ts";
import { ask, DOWNLOAD_BYTES, type Transport } from "../protocol/transport.ts";
import type { LoggedModel } from "../protocol/trust.ts";
import { forged, malformed } from "../refusals.ts";
import type { DeviceStorage } from "./storage.ts";

const ARRAYS_BYTES = 1024; // of a message of arrays, apart from its values

/** A model as it is kept: enough to rank offline. */
export interface SavedModel {
  hash: string;
  content: Bytes;
  counts: string; // hash of the counts it is read with, "" for none
  round: number; // of the manifest it came with
}

export class Downloads {
  private described: Description | null = null;
  private counted: { hash: string; info: FederationInfo } | null = null;
  private held: SavedModel | null = null;
  private read: { hash: string; model: Tables } | null = null;

  constructor(
    private readonly url: string,
    private readonly send: Transport,
    private readonly terms: FederationTerms,
    private readonly storage: DeviceStorage | null = null, // null: nothing is kept
  ) {}

  /** The public description that the terms name. */
  async description(): Promise<Description> {
    if (!this.described) {
      const { description, bytes } = this.terms.fields.catalogue;
      const content = await this.kept("description", description, Math.min(DOWNLOAD_BYTES, bytes), "items");
      const read = readDescription(content);
      if (methodOf(this.terms.fields).releasesCounts && read.info.counts) {
        throw malformed("the description of a method that sums up the counts of items must have none, but has some.");
      }
      this.described = await this.withFeatures(read);
    }
    return this.described;
  }

  /** The same with the features of the items, where the method uses them; refuses any that do not fit. */
  private async withFeatures(read: Description): Promise<Description> {
    if (!methodOf(this.terms.fields).usesFeatures) return read;
    if (!read.features)
      throw malformed(`${this.terms.fields.method} needs item features, but the description names none.`);
    const most = Math.min(DOWNLOAD_BYTES, this.terms.fields.catalogue.features_bytes);
    const { hash, count } = read.features;
    const features = await readFeatures(await this.kept("features", hash, most, "item features"));
    if (features.start.length !== read.info.items + 1 || features.labels.length !== count) {
      throw malformed("the item features must be those of the items, but are others.");
    }
    return { ...read, info: { ...read.info, features } };
  }

  /** What everybody knows in a round: the description, and the counts that were made public since. */
  async info(wanted: Manifest): Promise<FederationInfo> {
    const { info } = await this.description();
    const method = methodOf(this.terms.fields);
    const phase = method.phases(info).find((one) => one.name === wanted.phase);
    if (wanted.counts && !(method.releasesCounts && phase?.follows)) {
      throw forged(`counts of items must come from a sum that the phase follows, but '${wanted.phase}' follows none.`);
    }
    return wanted.counts ? this.withCounts(wanted.counts.hash, wanted.counts.bytes) : info;
  }

  /** The public model of a round. */
  async model(wanted: Manifest, info: FederationInfo): Promise<Tables> {
    const length = modelBytes(this.downloads(info), info.listed.length);
    if (wanted.model.bytes !== length)
      throw malformed(`the model of a round must have ${length} bytes, but says others.`);
    checkShapes(methodOf(this.terms.fields).publishes(info), wanted);
    return this.hold(wanted.model.hash, info, wanted.counts?.hash ?? "", wanted.round, wanted);
  }

  /** The newest model of the log, as somebody who ranks needs it. */
  async newest(logged: LoggedModel, round: number): Promise<void> {
    const { info } = await this.description();
    const known = logged.counts ? await this.withCounts(logged.counts, DOWNLOAD_BYTES) : info;
    await this.hold(logged.model, known, logged.counts, round, null);
  }

  /** The model that is here, without any request; null: there is none. */
  async offline(): Promise<{ kept: SavedModel; info: FederationInfo; model: Tables } | null> {
    const kept = await this.heldModel();
    if (!kept) return null;
    const { info } = await this.description();
    const known = kept.counts ? await this.withCounts(kept.counts, DOWNLOAD_BYTES) : info;
    return { kept, info: known, model: await this.decoded(kept, known) };
  }

  /** The content of this hash, of at most so many bytes. */
  async fetch(name: string, length: number, purpose: string): Promise<Bytes> {
    const content = await this.get(name, length, purpose);
    if ((await sha256Hex(content)) !== name) {
      throw forged("what is published under a hash must have it, but has another; take no part.");
    }
    return content;
  }

  private async withCounts(name: string, length: number): Promise<FederationInfo> {
    if (this.counted?.hash !== name) {
      const { info } = await this.description();
      const content = await this.kept("counts", name, Math.min(ARRAYS_BYTES + 4 * info.items, length), "counts");
      this.counted = { hash: name, info: { ...info, counts: readCounts(content, info.items) } };
    }
    return this.counted.info;
  }

  private async hold(
    name: string,
    info: FederationInfo,
    counts: string,
    round: number,
    wanted: Manifest | null,
  ): Promise<Tables> {
    const before = await this.heldModel();
    const same = before?.hash === name;
    const content = same ? before.content : await this.fetchModel(name, info, wanted, before);
    const kept = { hash: name, content, counts, round: same ? Math.max(before.round, round) : round };
    const model = await this.decoded(kept, info);
    // with the counts it is read with: those of a next release may come before its model does
    const read = await this.storage?.read("public/counts");
    if (!same) await this.storage?.write({ "public/model": kept, "public/counts of the model": read });
    this.held = kept;
    return model;
  }

  /** The whole model, or what changed since the one that is here. */
  private async fetchModel(
    name: string,
    info: FederationInfo,
    wanted: Manifest | null,
    before: SavedModel | null,
  ): Promise<Bytes> {
    const spec = this.downloads(info);
    const whole = modelBytes(spec, info.listed.length);
    if (whole > DOWNLOAD_BYTES) throw malformed(`a model must have at most ${DOWNLOAD_BYTES} bytes, but has ${whole}.`);
    if (!before) return this.fetch(name, whole, "model");
    const short = wanted?.changes.find((one) => one.base === before.hash && one.bytes < whole);
    const content = short
      ? await this.fetch(short.hash, short.bytes, "model changes")
      : await this.get(`${name}/since/${before.hash}`, whole, "model changes");
    if ((await sha256Hex(content)) === name) return content;
    const led = await applyChanges(before.content, content, spec, info.listed);
    if ((await sha256Hex(led)) !== name)
      throw malformed("what changed must lead to the model of the round, but leads elsewhere.");
    return led;
  }

  private async decoded(kept: SavedModel, info: FederationInfo): Promise<Tables> {
    if (this.read?.hash === kept.hash) return this.read.model;
    const method: Method = methodOf(this.terms.fields);
    const model = await decodeModel(kept.content, this.downloads(info), info.listed);
    const counts = method.releasesCounts ? method.publicCounts(model) : null;
    if (method.releasesCounts && JSON.stringify(counts) !== JSON.stringify(info.counts)) {
      throw forged("the counts of items must be those the model tells, but are not.");
    }
    this.read = { hash: kept.hash, model };
    return model;
  }

  private downloads(info: FederationInfo): MessageSpec {
    return narrowed(methodOf(this.terms.fields).publishes(info), this.terms.channel.download);
  }

  private async heldModel(): Promise<SavedModel | null> {
    this.held ??= (await this.storage?.read<SavedModel>("public/model")) ?? null;
    return this.held;
  }

  /** From what is kept if it has this hash, else fetched and kept. */
  private async kept(kind: string, name: string, length: number, purpose: string): Promise<Bytes> {
    for (const slot of [kind, `${kind} of the model`]) {
      const known = await this.storage?.read<{ hash: string; content: Bytes }>(`public/${slot}`);
      if (known?.hash === name) return known.content;
    }
    const content = await this.fetch(name, length, purpose);
    await this.storage?.write({ [`public/${kind}`]: { hash: name, content } });
    return content;
  }

  private async get(path: string, length: number, purpose: string): Promise<Bytes> {
    const url = `${this.url}/m/${path}`;
    return (await ask(this.send, { method: "GET", url, purpose, largest: length })).body;
  }
}

/** Refuse shapes that are none of a declared table. */
function checkShapes(publishes: MessageSpec, wanted: Manifest): void {
  for (const { name, rows, width } of publishes.tables) {
    const shape = wanted.shapes[name];
    const size = shape?.reduce((all, n) => all * n, 1);
    if (size !== rows * width) throw malformed(`'${name}' must have ${rows} rows of ${width}, but has others.`);
  }
}
