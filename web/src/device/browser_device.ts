/** The device as the screens know it (types.ts): a visitor who likes and ranks, and a member who answers rounds. */

import type { Bytes } from "../bytes.ts";
import { checkAdmission, checkInvited, ownAdmission, readInvitation } from "../protocol/admission.ts";
import { FederationTerms } from "../protocol/terms.ts";
import { fetchTerms, GoneBackError, TermsChangedError } from "../protocol/trust.ts";
import { methodOf } from "../methods/registry.ts";
import { RefusedError, UnreachableError } from "../refusals.ts";
import { checkExact, checkWindows } from "./checks.ts";
import { changeLikes, changePermission, checkLikes, checkPermission } from "./choices.ts";
import { exportedText, readExport } from "./export.ts";
import { federationFacts } from "./facts.ts";
import { heldHistory } from "./history.ts";
import { journalCsv, journalFiles } from "./journal.ts";
import { checkIdentity, identityOf } from "./identity.ts";
import { ended, type Identity, NO_CONSENT } from "./memory.ts";
import { readLedger } from "./ledger.ts";
import { type Pinned, pinned, refreshModel } from "./pinned.ts";
import { giveUp, register } from "./places.ts";
import { preview } from "./preview.ts";
import { Records } from "./records.ts";
import type { Surroundings } from "./rounds.ts";
import { type Changes, ClosableStorage, type DeviceStorage } from "./storage.ts";
import { declared } from "./traffic.ts";
import {
  type BrowserDevice,
  type Catalogue,
  DeviceError,
  type DeviceStatus,
  type FederationFacts,
  type JoinOptions,
  type Label,
  type Ledger,
  type Like,
  outcome,
  type Permission,
  type PinnedBy,
  type Preview,
  type Ranking,
  type RankingOptions,
  type VisitOutcome,
} from "./types.ts";

const POLL = 2,
  LATER = 600, // while the servers show an older log than before
  SOON = 0.25; // seconds between two looks at the coordinator: the first is soon, as the next round is near

const EMPTY: DeviceStatus = {
  stage: "empty",
  federation: null,
  likes: 0,
  permission: NO_CONSENT,
  model: null,
  last: null,
  offered: [],
};

export interface DeviceParts extends Surroundings {
  storage: DeviceStorage;
  origin?: string; // of the page: it takes over devices of this one alone
  /** Runs the work while no other tab is at work; throws a DeviceError if one is. */
  alone: <T>(work: () => Promise<T>) => Promise<T>;
}

export class Device implements BrowserDevice {
  private readonly storage: DeviceStorage;
  private readonly records: Records;
  private readonly around: Surroundings;
  private readonly listeners = new Set<(status: DeviceStatus) => void>();
  private pinned: Pinned | null = null;
  private now: DeviceStatus;
  private kept: Like[] = [];

  private constructor(private readonly parts: DeviceParts) {
    this.storage = new ClosableStorage(parts.storage);
    this.records = new Records(this.storage);
    this.around = { ...parts, send: declared(parts.send, this.storage, parts.clock) };
    this.now = EMPTY;
  }

  /** With everything that was kept; empty where that is of no use now. */
  static async open(parts: DeviceParts): Promise<Device> {
    const device = new Device(parts);
    const identity = await device.records.identity();
    try {
      if (identity) await device.pin(identity);
      await device.tell();
    } catch {
      device.pinned = null; // as if empty: the page works, looks again, and can delete what is kept
    }
    return device;
  }

  status(): DeviceStatus {
    return this.now;
  }

  watch(listener: (status: DeviceStatus) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  async reread(): Promise<void> {
    const before = JSON.stringify(this.now.permission);
    await this.tell();
    if (JSON.stringify(this.now.permission) !== before) this.pinned?.rounds.cancel();
  }

  async look(link: string, by: PinnedBy = "invitation"): Promise<FederationFacts> {
    const invitation = readInvitation(link);
    const { url, admission } = invitation;
    const { send, entropy, clock } = this.around;
    checkInvited(invitation);
    const known = await this.records.identity();
    const terms = await fetchTerms(send, url, invitation.terms);
    methodOf(terms.fields); // refuses a method this page does not know
    const identity = identityOf(invitation, terms, by, known, entropy);
    if (admission) await checkAdmission((await ownAdmission(admission)).shown, terms, clock());
    const found = await this.pin(identity, { identity });
    await refreshModel(found, this.records, send);
    await this.tell();
    return this.now.federation!;
  }

  catalogue(): Catalogue {
    const { labels, listed } = this.need();
    return { labels, listed };
  }

  likes(): readonly Like[] {
    return this.kept;
  }

  async setLikes(likes: readonly Like[]): Promise<void> {
    checkLikes(likes, this.need().labels.length);
    await this.storage.write({ likes });
    await this.tell();
  }

  async like(likes: readonly Like[], on: boolean): Promise<void> {
    checkLikes(likes, this.need().labels.length);
    await changeLikes(this.storage, likes, on);
    await this.tell();
  }

  find(labels: readonly Label[]): (number | null)[] {
    const places = new Map(this.need().labels.map((label, item) => [String(label), item]));
    return labels.map((label) => places.get(String(label)) ?? null);
  }

  permission(): Permission {
    return this.now.permission;
  }

  allow(change: Partial<Permission>): Promise<Permission> {
    return this.permit(() => change);
  }

  never(item: number, on: boolean): Promise<Permission> {
    return this.permit(({ never }) => {
      const others = never.filter((one) => one !== item);
      return { never: on ? [...others, item] : others };
    });
  }

  private async permit(change: (kept: Permission) => Partial<Permission>): Promise<Permission> {
    const permission = await changePermission(this.storage, change);
    this.pinned?.rounds.cancel();
    await this.tell();
    return permission;
  }

  async preview(pi: number): Promise<Preview> {
    const { identity, terms, downloads, rounds } = this.need();
    const [memory, likes, permission] = await Promise.all([
      this.records.memory(),
      this.records.likes(),
      this.records.permission(),
    ]);
    return preview(
      { identity, terms, downloads, manifest: rounds.manifest, memory, likes, permission: { ...permission, pi } },
      this.around,
    );
  }

  join(options: JoinOptions = {}): Promise<void> {
    return this.parts.alone(async () => {
      const { identity, terms } = this.need();
      const { send, clock } = this.around;
      checkExact(terms, options.exact || identity.exact);
      if (identity.pinnedBy !== "invitation")
        throw new DeviceError("a place must be taken by an invitation, but the server alone named these terms.");
      const admission = identity.admission ? await ownAdmission(identity.admission) : null;
      if (admission) await checkAdmission(admission.shown, terms, clock());
      checkWindows(terms);
      const place = await register(send, identity.url, terms, admission, identity.token);
      const joined: Identity = {
        ...identity,
        place,
        minimum: options.minimum ?? identity.minimum,
        readable: options.readable ?? identity.readable,
        exact: options.exact || identity.exact,
      };
      await this.storage.write({ identity: joined });
      await this.pin(joined);
      await this.tell();
    });
  }

  visit(stop?: AbortSignal): Promise<VisitOutcome> {
    return this.parts.alone(async () => {
      const { identity, rounds } = this.need();
      if (identity.place === null)
        throw new DeviceError("a visitor must join before taking part in rounds, but has not.");
      try {
        const last = await rounds.visit(stop);
        if (!stop?.aborted && ["sent", "not-called", "finished"].includes(last.kind)) await this.refreshQuietly();
        await this.tell(last.kind === "idle" ? {} : { last });
        return last;
      } catch (error) {
        if (error instanceof TermsChangedError) {
          await this.storage.write({ offered: error.offered.content });
          await this.tell();
        }
        throw error;
      }
    });
  }

  async stay(signal: AbortSignal, tell: (outcome: VisitOutcome) => void = () => undefined): Promise<void> {
    for (let pause = SOON; !signal.aborted; pause = Math.min(POLL, 2 * pause)) {
      let last: VisitOutcome;
      try {
        last = await this.visit(signal);
      } catch (error) {
        if (!(error instanceof DeviceError)) throw error;
        const lasting = error instanceof RefusedError && ["unauthorised", "version", "forged"].includes(error.code);
        const goneBack = error instanceof GoneBackError;
        if (lasting && !goneBack) throw error;
        if (goneBack) last = outcome("gone-back", error.message);
        else last = outcome(error instanceof UnreachableError ? "idle" : "refused", error.message);
      }
      if (last.kind !== "idle") tell(last);
      if (last.kind === "finished") return;
      if (last.kind === "sent") pause = SOON;
      await this.around.sleep((last.kind === "gone-back" ? LATER : pause) * (0.5 + Math.random())); // spreads load, protects nothing
    }
  }

  async acceptTerms(): Promise<void> {
    const { identity, terms } = this.need();
    const offered = await this.storage.read<Bytes>("offered");
    if (!offered) throw new DeviceError("there must be changed terms to agree to, but there are none.");
    const accepted = { ...identity, terms: offered };
    const after = await FederationTerms.decode(offered);
    const { method, settings } = after.fields;
    const same = method === terms.fields.method && JSON.stringify(settings) === JSON.stringify(terms.fields.settings);
    const memory = await this.records.memory();
    // what was learned by another method is of no use
    const kept = ended(same ? memory : { ...memory, state: null }, after.lostAfter(terms));
    await this.pin(accepted, { identity: accepted, offered: undefined, memory: kept });
    await this.tell();
  }

  recommend(k: number, options: RankingOptions = {}): Promise<Ranking> {
    return this.rank(k, false, options);
  }

  popular(k: number): Promise<Ranking> {
    return this.rank(k, true, {});
  }

  ledger(): Promise<Ledger> {
    return readLedger(this.records, this.pinned?.terms ?? null);
  }

  async ledgerCsv(): Promise<string> {
    return journalCsv(await this.records.journal());
  }

  async journalFiles(): Promise<Record<string, string>> {
    return journalFiles(await this.records.journal());
  }

  async exportAll(): Promise<string> {
    return exportedText(this.storage);
  }

  restore(text: string): Promise<void> {
    return this.parts.alone(async () => {
      const changes = readExport(text);
      const place = (await this.records.identity())?.place ?? null;
      if (place !== null || (await this.records.likes()).length || (await this.records.journal()).length) {
        throw new DeviceError(
          "this browser must have no likes and no place to move a device to it, but has; delete everything first.",
        );
      }
      const identity = await checkIdentity(changes.identity, this.parts.origin);
      checkPermission((changes.permission ?? NO_CONSENT) as Permission);
      const fits = ({ labels }: Pinned) => checkLikes((changes.likes ?? []) as Like[], labels.length);
      await this.pin(identity, { ...changes, identity }, fits);
      await this.tell();
    });
  }

  async leave(): Promise<string | null> {
    const identity = await this.records.identity();
    let why: string | null = null;
    try {
      // first of all, so that a round at work sends nothing more and takes no place anew
      await this.storage.write({ permission: NO_CONSENT }).finally(() => this.pinned?.rounds.cancel());
      if (identity && identity.place !== null) await giveUp(this.around.send, identity.url, identity.token);
    } catch (error) {
      if (!(error instanceof DeviceError)) throw error;
      why = error.message;
    }
    await this.storage.erase();
    this.pinned = null;
    this.kept = [];
    this.announce(EMPTY);
    return why;
  }

  private async rank(k: number, popular: boolean, options: RankingOptions): Promise<Ranking> {
    const { identity, terms, downloads } = this.need();
    const found = await downloads.offline();
    if (!found) throw new DeviceError("there must be a model to rank with, but the federation has published none yet.");
    const { kept, info, model } = found;
    const memory = await this.records.memory();
    const somebody = options.as; // who has learned and sent nothing
    const { history } = heldHistory(somebody ?? this.kept, info, memory.joined, NO_CONSENT, identity.secret);
    const { method, settings } = terms.fields;
    const begun = performance.now();
    const list = await this.around.trainer.rank({
      of: { method, settings },
      info,
      round: kept.round + 1,
      model,
      state: somebody ? null : memory.state,
      history,
      secret: identity.secret,
      k,
      popular,
      disclosed: somebody ? [] : memory.sent,
      withoutTerms: options.withoutTerms ?? [],
      withoutLikes: options.withoutLikes ?? [],
    });
    return { list, personal: !popular, milliseconds: performance.now() - begun, model: kept.hash, round: kept.round };
  }

  /** There may be a newer model; where it cannot be had now, the one that is here ranks. */
  private async refreshQuietly(): Promise<void> {
    try {
      await refreshModel(this.need(), this.records, this.around.send);
    } catch (error) {
      if (!(error instanceof UnreachableError || error instanceof RefusedError)) throw error;
    }
  }

  private need(): Pinned {
    if (!this.pinned) throw new DeviceError("an invitation must be opened first, but none was.");
    return this.pinned;
  }

  /** Check what an identity pins; only then keep `changes`. */
  private async pin(identity: Identity, changes?: Changes, check?: (found: Pinned) => void): Promise<Pinned> {
    const found = await pinned(identity, this.records, this.around);
    check?.(found);
    if (changes) await this.storage.write(changes);
    return (this.pinned = found);
  }

  /** Read everything anew, as another tab may have changed it, and tell whoever watches. */
  private async tell(news: Partial<DeviceStatus> = {}): Promise<void> {
    this.kept = await this.records.likes();
    const permission = await this.records.permission();
    const now = this.pinned;
    const facts = now ? federationFacts(now.identity, now.terms, (await now.downloads.description()).info) : null;
    const found = now
      ? await this.storage.read<{ hash: string; round: number; content: Bytes }>("public/model")
      : undefined;
    const offered = now && (await this.storage.read<Bytes>("offered"));
    this.announce({
      ...this.now,
      federation: facts,
      offered: offered ? now.terms.differences(await FederationTerms.decode(offered)) : [],
      permission,
      likes: this.kept.length,
      stage: !now ? "empty" : now.identity.place === null ? "visitor" : "member",
      model: found ? { hash: found.hash, round: found.round, bytes: found.content.length } : null,
      ...news,
    });
  }

  private announce(status: DeviceStatus): void {
    this.now = status;
    for (const listener of this.listeners) listener(status);
  }
}
