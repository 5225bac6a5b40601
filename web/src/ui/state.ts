/** What the screens show, and what they can do: signals over the device. */

import { computed, signal } from "@preact/signals";
import { openDevice } from "../device/open.ts";
import {
  type BrowserDevice,
  DeviceError,
  type DeviceStatus,
  type Ledger,
  type Like,
  type Ranking,
  type VisitOutcome,
} from "../device/types.ts";
import { forgetPage } from "./forgetting.ts";
import { invitationHere } from "./invitation.ts";
import { type Metered, readMeter } from "./meter.ts";
import { newest } from "./newest.ts";
import { texts } from "./texts.ts";
import { Titles } from "./titles.ts";
import { requestsAboutHer } from "./what_left.ts";

export const SCREENS = ["start", "for-you", "share", "left", "data", "how"] as const;
export type Screen = (typeof SCREENS)[number];
export const SHOWN = 10; // items of a list
export const FIRST = 5; // likes that make a list worth looking at
const KNOWN = 400; // items of the popular list that order what a search finds

/** Somebody else to look around as. Lives in this tab alone: never kept, never trained on, never sent. */
export interface Persona {
  kind: string;
  likes: readonly Like[];
}

export const screen = signal<Screen>("start");
export const status = signal<DeviceStatus | null>(null);
export const titles = signal<Titles | null>(null);
export const likes = signal<readonly Like[]>([]);
export const persona = signal<Persona | null>(null);
export const ranking = signal<Ranking | null>(null);
export const popular = signal<Ranking | null>(null);
export const ledger = signal<Ledger | null>(null);
export const meter = signal<Metered | null>(null);
export const trouble = signal(""); // one sentence, until it is closed
export const online = signal(true);
export const gone = signal<string | null>(null); // everything was deleted; what went wrong with leaving, or ""
export const paused = computed(() => status.value?.permission.paused ?? false);
export const liked = computed(() => new Set(likes.value.map(({ item }) => item)));
export const popularity = computed(() => new Map((popular.value?.list ?? []).map(({ item }, place) => [item, place])));
export const sent = computed(() => requestsAboutHer(ledger.value));

let device: BrowserDevice | null = null;
let staying: AbortController | null = null;
const tabs = new BroadcastChannel("murmura"); // the others of this browser
const newestRanking = newest<Ranking | null | undefined>((made) => void (ranking.value = made ?? null));

/** The device; screens are only drawn when there is one. */
export function theDevice(): BrowserDevice {
  if (!device) throw new DeviceError(texts.errors.offline);
  return device;
}

/** Open what is kept; with an invitation in the address, look at that federation. */
export async function begin(worker: Worker): Promise<void> {
  const made = (device = await openDevice(worker));
  made.watch((now) => void (status.value = now));
  const link = await invitationHere(made.status().stage !== "empty");
  if (link) await guarded(() => made.look(link.text, link.by));
  if (made.status().stage === "empty") {
    await refresh();
    if (!trouble.value) trouble.value = texts.errors.offline; // what was refused has said so itself
    return;
  }
  titles.value = await Titles.fetch();
  status.value = made.status();
  likes.value = made.likes();
  if (made.status().model) await guarded(async () => void (popular.value = await made.popular(KNOWN)));
  await refresh();
  if (likes.value.length && !location.hash) screen.value = "for-you";
  tabs.onmessage = ({ data }: MessageEvent<"changed" | "deleted">) => void hear(data);
  stayOrStop();
}

/** Do something that may fail: its sentence is shown, and nothing else changes. */
export async function guarded<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (gone.value === null) trouble.value = error instanceof Error ? error.message : String(error);
    return undefined;
  }
}

/** These too, or no longer. */
export async function like(some: readonly Like[], on = true): Promise<void> {
  await guarded(async () => {
    await theDevice().like(some, on);
    likes.value = theDevice().likes();
    tabs.postMessage("changed");
    await rank();
  });
}

export function toggle(item: number): Promise<void> {
  return like([{ item, value: 1, time: Math.floor(Date.now() / 1000) }], !liked.value.has(item));
}

/** Never share an item, or let it be shared again. */
export async function never(item: number, on: boolean): Promise<void> {
  await guarded(() => theDevice().never(item, on));
  tabs.postMessage("changed");
}

/** The list of somebody else, or with null her own again. */
export function lookAs(somebody: Persona | null): Promise<void> {
  persona.value = somebody;
  return rank();
}

/** Allow it, take a place if she has none, and take part; who shares nothing has nothing to pause. */
export async function share(pi: number, exact: boolean): Promise<boolean> {
  const done = await guarded(async () => {
    const { stage, federation } = theDevice().status();
    const { minimum, exactAllowed } = federation!;
    if (pi > 0 && (stage !== "member" || (exact && !exactAllowed))) await theDevice().join({ minimum, exact });
    await theDevice().allow({ train: pi > 0, statistics: pi > 0, pi, ...(pi > 0 ? {} : { paused: false }) });
    return true;
  });
  stayOrStop();
  tabs.postMessage("changed");
  await refresh();
  return done ?? false;
}

/** Kept with the permission, so that it holds in every tab and after a reload. */
export async function pause(on: boolean): Promise<void> {
  if (on) staying?.abort();
  await guarded(() => theDevice().allow({ paused: on }));
  tabs.postMessage("changed");
  stayOrStop();
}

export async function refresh(): Promise<void> {
  await guarded(async () => {
    const kept = await theDevice().ledger();
    if (gone.value !== null) return; // to read what the meter counted would make its database anew
    ledger.value = kept;
    meter.value = await readMeter(kept.traffic);
  });
  await rank();
}

/** Tell the federation, and forget everything: also what the meter counted and the kept page. */
export async function erase(): Promise<void> {
  await guarded(async () => {
    staying?.abort();
    const why = await theDevice().leave();
    await forgetPage();
    deleted(why ?? "");
    tabs.postMessage("deleted");
  });
}

/** Nothing is left here to be told of. */
function deleted(why: string): void {
  staying?.abort();
  gone.value = why;
  status.value = null;
  ledger.value = meter.value = persona.value = ranking.value = null;
  likes.value = [];
  trouble.value = ""; // whatever was at work could no longer read or write
}

/** Another tab has changed what is kept, or deleted it. */
async function hear(said: "changed" | "deleted"): Promise<void> {
  if (said === "deleted") {
    deleted("");
    return forgetPage(); // what was counted of this tab meanwhile
  }
  if (gone.value !== null) return;
  await guarded(() => theDevice().reread());
  likes.value = theDevice().likes();
  stayOrStop();
  await refresh();
}

function stayOrStop(): void {
  const { stage, permission } = theDevice().status();
  if (stage !== "member" || !permission.train || permission.paused) staying?.abort();
  else if (!staying || staying.signal.aborted) stay();
}

function stay(): void {
  const mine = (staying = new AbortController());
  const tell = (last: VisitOutcome): void => {
    if (last.kind === "gone-back") trouble.value = last.why;
    if (last.kind === "sent") tabs.postMessage("changed");
    void refresh();
  };
  void guarded(() => theDevice().stay(mine.signal, tell)).finally(() => {
    mine.abort();
    void refresh();
  });
}

async function rank(): Promise<void> {
  const somebody = persona.value?.likes,
    able = (somebody ?? likes.value).length > 0 && theDevice().status().model !== null;
  await newestRanking(async () =>
    able ? guarded(() => theDevice().recommend(SHOWN, somebody ? { as: somebody } : {})) : null,
  );
}
