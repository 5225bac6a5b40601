/**
 * The state machine of a device: it looks at the coordinator, takes part in the rounds it is called for, and keeps
 * the rest. The order of things is the promise. The sending time is drawn before training starts. What is sent has
 * one length for everyone. The journal has the upload before the first byte leaves, and consent is asked before
 * every one. After a crash the same update is sent again or none.
 */

import { type Bytes, concat, fromHex, toHex } from "../bytes.ts";
import type { FederationInfo } from "../channel/layout.ts";
import { SEED_BYTES } from "../channel/shares.ts";
import type { History, Phase } from "../methods/method.ts";
import type { OwnAdmission } from "../protocol/admission.ts";
import { LARGEST_ENVELOPE, type Manifest } from "../protocol/manifest.ts";
import { isNoisy } from "../protocol/noise.ts";
import { journalMark, reportId } from "../protocol/report.ts";
import type { FederationTerms } from "../protocol/terms.ts";
import { ask, bearer, type HttpReply, type HttpRequest, type Transport } from "../protocol/transport.ts";
import { verified } from "../protocol/trust.ts";
import { NoReceiptError, RefusedError, UnreachableError } from "../refusals.ts";
import { checkPhase, isNew, unasked } from "./checks.ts";
import type { Downloads } from "./downloads.ts";
import { heldHistory } from "./history.ts";
import {
  answering,
  dealtWith,
  type DeviceMemory,
  epsilonSpent,
  exchanging,
  type Identity,
  type LinkedVector,
  type PendingUpload,
  spending,
  TRAINING,
} from "./memory.ts";
import { objection } from "./policy.ts";
import { register } from "./places.ts";
import type { Records } from "./records.ts";
import { PAUSED } from "./traffic.ts";
import { phaseOf, type Trainer, type TrainingResult } from "./training.ts";
import { DeviceError, outcome, type Permission, type VisitKind, type VisitOutcome } from "./types.ts";
import { type Countersigned, digestOf, type PreparedUpload, preparedUpload, sentInOrder } from "./upload.ts";

const RETRY = 0.5; // seconds between attempts while a machine does not answer
const SALT_BYTES = 32;

export interface Surroundings {
  send: Transport;
  trainer: Trainer;
  clock: () => number; // seconds since 1970
  sleep: (seconds: number) => Promise<void>;
  entropy: (bytes: number) => Bytes; // the system's
}

/** A round the device takes part in. */
interface Work {
  manifest: Manifest;
  info: FederationInfo;
  phase: Phase;
  ticket: Bytes;
  report: Bytes;
  sendAt: number;
  allowed: Permission; // what this upload is made under; a change cancels it
}

interface Trained {
  result: TrainingResult;
  history: History;
  joined: number[];
  sent: number[];
  disclosed: number;
  prepared: PreparedUpload;
  linked: LinkedVector | null; // what later exchanges are held against
}

export class Rounds {
  private etag = "";
  private uploading = new AbortController();
  private stop = this.uploading.signal; // of the visit that runs
  manifest: Manifest | null = null; // the last one seen

  constructor(
    private identity: Identity,
    private readonly terms: FederationTerms,
    private readonly admission: OwnAdmission | null,
    private readonly records: Records,
    private readonly downloads: Downloads,
    private readonly around: Surroundings,
  ) {}

  /** Look at the coordinator once, and take part if there is something to take part in; until `stop` ends it. */
  async visit(stop = new AbortController().signal): Promise<VisitOutcome> {
    this.stop = stop;
    if ((await this.records.permission()).paused) return outcome("idle", PAUSED);
    const headers = this.etag ? { "if-none-match": this.etag } : {};
    const url = `${this.identity.url}/round`;
    let reply: HttpReply;
    try {
      reply = await ask(this.stoppable, { method: "GET", url, purpose: "round", headers, largest: LARGEST_ENVELOPE });
    } catch (error) {
      const code = error instanceof RefusedError ? error.code : "";
      if (code === "paused" || code === "finished") return outcome(code === "paused" ? "idle" : "finished");
      throw error;
    }
    return reply.status === 304 ? outcome("idle") : this.takePart(reply);
  }

  /** What is on its way to an aggregator is stopped: its owner has changed what she allows. */
  cancel(): void {
    this.uploading.abort();
    this.uploading = new AbortController();
  }

  private async takePart(reply: HttpReply): Promise<VisitOutcome> {
    const memory = await this.records.memory();
    const { clock } = this.around;
    const signed = await verified(reply.body, this.terms, memory.log, this.stoppable, this.identity.url);
    const { manifest } = signed;
    this.manifest = manifest;
    let made = outcome("idle");
    if (isNew(manifest, memory, this.terms, clock())) {
      const grown = await this.records.keep({ ...memory, log: signed.proof.head.seen });
      const allowed = await this.records.permission();
      const why = objection(this.identity, this.terms, grown, allowed, manifest);
      if (why !== null) return this.done(manifest, "declined", why);
      made = await this.answer(manifest, allowed);
    }
    this.etag = reply.etag;
    return made;
  }

  /** `allowed` was read before anything is waited for: a later change cancels the upload. */
  private async answer(manifest: Manifest, allowed: Permission): Promise<VisitOutcome> {
    const before = await this.records.memory();
    const { info: described } = await this.downloads.description();
    const asked = phaseOf(this.terms.fields, manifest.phase, described); // whom it asks does not depend on counts
    checkPhase(asked, this.terms, described.clients);
    if (!(asked.asks === "training" ? allowed.train : allowed.statistics)) {
      return this.done(manifest, "declined", `no consent to ${asked.asks}`);
    }
    const not = unasked(manifest, asked, before, this.terms, this.identity.place ?? -1);
    if (not) return this.done(manifest, not.kind, not.why);
    const info = await this.downloads.info(manifest);
    const phase = phaseOf(this.terms.fields, manifest.phase, info);
    try {
      return await this.report(manifest, info, phase, allowed, before);
    } catch (error) {
      return this.notSent(error, manifest, before);
    }
  }

  private async report(
    manifest: Manifest,
    info: FederationInfo,
    phase: Phase,
    allowed: Permission,
    before: DeviceMemory,
  ): Promise<VisitOutcome> {
    const { entropy, clock } = this.around;
    const report = await reportId(this.identity.token, manifest.hash);
    const ticket = await this.ticket(manifest, report, allowed);
    // before training, so that it tells nothing about how long that takes
    const draw = new DataView(entropy(4).buffer).getUint32(0, true) / 2 ** 32;
    const work: Work = {
      manifest,
      info,
      phase,
      ticket,
      report,
      allowed,
      sendAt: clock() + manifest.hold + manifest.spread * draw,
    };
    const again = before.pending?.manifest === manifest.name ? before.pending : null;
    const seed = again ? fromHex(again.seed) : entropy(SEED_BYTES);
    const salt = again ? fromHex(again.salt) : entropy(SALT_BYTES);
    const trained = await this.train(work, before, seed);
    const digest = await digestOf(trained.prepared.messages);
    if (again && again.digest !== digest) {
      throw new RefusedError("duplicate", "what would be sent is not what was prepared before the crash.");
    }
    return this.upload(
      work,
      trained,
      { manifest: manifest.name, seed: toHex(seed), salt: toHex(salt), digest },
      !!again,
    );
  }

  /** What a failure leaves: perhaps nothing was counted, perhaps it was. */
  private async notSent(error: unknown, manifest: Manifest, before: DeviceMemory): Promise<VisitOutcome> {
    if (error instanceof UnreachableError || !(error instanceof DeviceError)) throw error;
    // where nobody answered it was perhaps counted: what it would show counts as shown
    if (error instanceof NoReceiptError) return this.done(manifest, "refused", error.message);
    if (error instanceof RefusedError) {
      // what an aggregator or the coordinator has read is out, also if it is left out
      if (error.code !== "left-out") await this.records.keep({ ...(await this.records.memory()), sent: before.sent });
      return this.done(manifest, error.code === "not-called" ? "not-called" : "refused", error.message);
    }
    return this.done(manifest, "declined", error.message); // consent was taken back, or nothing can be kept
  }

  private async done(manifest: Manifest, kind: VisitKind, why: string): Promise<VisitOutcome> {
    await this.records.keep(dealtWith(await this.records.memory(), manifest.serial, manifest.name));
    return { ...outcome(kind), round: manifest.round, phase: manifest.phase, why };
  }

  /** The right to report in this round; a place that was lost by staying away is taken anew. */
  private async ticket(manifest: Manifest, report: Bytes, allowed: Permission): Promise<Bytes> {
    const { url, token } = this.identity;
    const body = concat(manifest.hash, report);
    const request: HttpRequest = {
      method: "POST",
      url: `${url}/tickets`,
      body,
      purpose: "ticket",
      round: manifest.round,
    };
    try {
      return (await this.patiently(request, manifest, allowed)).body;
    } catch (error) {
      if (!(error instanceof RefusedError) || error.code !== "unauthorised") throw error;
    }
    await this.requireConsent(allowed);
    const place = await register(this.stoppable, url, this.terms, this.admission, token);
    this.identity = { ...this.identity, place };
    await this.records.storage.write({ identity: this.identity });
    return (await this.patiently(request, manifest, allowed)).body;
  }

  /** The algorithm's step and the device half of the channel; nothing leaves. */
  private async train(work: Work, memory: DeviceMemory, seed: Bytes): Promise<Trained> {
    const { manifest, info, phase, allowed } = work;
    const { secret, url } = this.identity;
    const model = phase.fetchesModel ? await this.downloads.model(manifest, info) : {};
    const { history, joined } = heldHistory(await this.records.likes(), info, memory.joined, allowed, secret);
    const result = await this.around.trainer.train({
      of: { method: this.terms.fields.method, settings: this.terms.fields.settings },
      info,
      phase: phase.name,
      round: manifest.round,
      model,
      state: memory.state,
      history,
      secret,
      channel: this.terms.channel,
      largest: manifest.largest,
      multiplier: this.terms.fields.noise.multipliers[phase.name] ?? 0,
    });
    const shown = Array.from(history.item).filter((_, row) => result.shown[row]);
    const sent = [...new Set([...memory.sent, ...shown])].sort((a, b) => a - b);
    const ever = new Set(sent);
    const disclosed = history.item.length
      ? history.item.filter((item) => ever.has(item)).length / history.item.length
      : 0;
    const prepared = await preparedUpload(this.terms, url, phase, result, seed, this.around.trainer);
    const before = memory.linked ?? null;
    const linked = prepared.proved ? await prepared.proved.linkedAfter(before, manifest, phase) : before;
    return { result, history, joined, sent, disclosed, prepared, linked };
  }

  /** Wait for the time drawn, write it down, send; keep what was learned only when it was taken. */
  private async upload(work: Work, trained: Trained, pending: PendingUpload, again: boolean): Promise<VisitOutcome> {
    const { manifest, phase } = work;
    const { noise } = this.terms.fields;
    const multiplier = noise.multipliers[phase.name] ?? 0;
    let memory = await this.records.memory();
    if (!again) {
      const { joined, sent, linked } = trained;
      memory = spending({ ...memory, pending, joined, sent, linked }, multiplier);
      const window = phase.repeat === null ? TRAINING : manifest.window;
      const counts = phase.repeat !== null || isNoisy(noise);
      memory = await this.records.keep(counts ? answering(memory, phase.name, window) : memory);
    }
    await this.wait(work);
    const bytes = trained.prepared.messages.reduce((sum, one) => sum + one.length, 0);
    const { disclosed, result } = trained;
    const spent = isNoisy(noise) ? epsilonSpent(memory, noise.delta) : Infinity;
    const entry = {
      time: new Date(1000 * this.around.clock()).toISOString().replace(/\.\d+Z$/, "+00:00"),
      round: manifest.round,
      phase: phase.name,
      manifest: manifest.name,
      bytes,
      rows: result.rows,
      disclosed,
      epsilon: Number.isFinite(spent) ? spent : null,
      delta: isNoisy(noise) ? noise.delta : null,
    };
    // what is proved, or what the update has rows of; where it has none by item, whatever may be in it
    const byItem = phase.sends.tables.some((one) => one.space === "item");
    const { item, consent } = trained.history;
    const rows = Array.from(item).filter((_, row) => (byItem ? result.shown[row] : consent[row]! > 0));
    const items = result.update.own ? Array.from(result.update.own) : rows;
    // in the journal before the first byte; and every exchange that is remembered has its line there
    memory = await this.records.note(exchanging(memory, manifest.round, phase.name), entry, items);
    const mark = await journalMark(fromHex(pending.salt), memory.head);
    const { signatures, proved } = await this.send(work, trained.prepared, mark);
    const learned = dealtWith(
      { ...(await this.records.memory()), state: result.state },
      manifest.serial,
      manifest.name,
    );
    await this.records.keepReceipt(
      {
        terms: manifest.terms,
        manifest: manifest.name,
        report: toHex(work.report),
        head: memory.head,
        salt: pending.salt,
        signatures: signatures.map(toHex),
        proved: toHex(proved),
      },
      learned,
    );
    return {
      kind: "sent",
      round: manifest.round,
      phase: phase.name,
      why: "",
      bytes,
      disclosed,
      epsilon: entry.epsilon,
    };
  }

  private async wait(work: Work): Promise<void> {
    const { clock, sleep } = this.around;
    const { hold } = work.manifest;
    let { sendAt } = work;
    const late = clock() - sendAt;
    if (hold > 0 && late > 0) sendAt += Math.ceil(late / hold) * hold; // tell no more than in whole holds
    for (let left = sendAt - clock(); left > 0; left = sendAt - clock()) {
      await sleep(Math.min(left, 1));
      await this.requireConsent(work.allowed);
    }
    await this.requireConsent(work.allowed);
  }

  private async send(work: Work, prepared: PreparedUpload, mark: Bytes): Promise<Countersigned> {
    const { manifest, report, ticket, allowed } = work;
    const by = { manifest: manifest.hash, report, ticket, mark, admission: this.admission };
    return sentInOrder(prepared, this.terms, by, async ({ url, purpose }, body) => {
      const request: HttpRequest = { method: "POST", url, body, purpose, round: manifest.round };
      return (await this.patiently(request, manifest, allowed)).body;
    });
  }

  private async requireConsent(allowed: Permission): Promise<void> {
    const now = await this.records.permission();
    if (now.paused || this.stop.aborted) throw new DeviceError(PAUSED);
    if (JSON.stringify(now) !== JSON.stringify(allowed)) {
      throw new DeviceError("what its owner allows was changed or taken back, so nothing more leaves.");
    }
  }

  private readonly stoppable: Transport = (request) =>
    this.around.send({ ...request, signal: AbortSignal.any([this.uploading.signal, this.stop]) });

  /**
   * Ask again while nobody answers, until the round is over by this device's own clock. Consent is asked before
   * every attempt.
   */
  private async patiently(request: HttpRequest, manifest: Manifest, allowed: Permission): Promise<HttpReply> {
    const { clock, sleep } = this.around;
    const until = clock() + (manifest.deadline - manifest.opened);
    const own = request.url.startsWith(`${this.identity.url}/`);
    const headers = own ? bearer(this.identity.token) : {}; // the token is the coordinator's alone to see
    for (let unanswered = false; ; await sleep(RETRY)) {
      await this.requireConsent(allowed);
      try {
        return await ask(this.stoppable, { ...request, headers });
      } catch (error) {
        if (error instanceof UnreachableError) {
          unanswered = request.purpose !== "ticket"; // of an upload, which may have been counted
        } else if (error instanceof RefusedError && !["rate", "full"].includes(error.code)) {
          if (!unanswered || error.code === "left-out") throw error; // who refuses now may have counted it before
          throw new NoReceiptError(error.code, `${error.message} An earlier attempt got no answer.`);
        } else if (!(error instanceof RefusedError)) {
          throw error;
        }
      }
      if (clock() > until) throw new NoReceiptError("late", `${request.url} did not answer before the round was over.`);
    }
  }
}
