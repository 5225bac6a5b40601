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
import { isUpload } from "./uploads.ts";
import { texts } from "./texts.ts";
import { Titles } from "./titles.ts";

export const SCREENS = ["start", "for-you", "share", "left", "data", "how"] as const;
export type Screen = (typeof SCREENS)[number];
export const SHOWN = 10; // items of a list
export const FIRST = 5; // likes that make a list worth looking at
const KNOWN = 400; // items of the popular list that order what a search finds

export const screen = signal<Screen>("start");
export const status = signal<DeviceStatus | null>(null);
export const titles = signal<Titles | null>(null);
export const likes = signal<readonly Like[]>([]);
export const ranking = signal<Ranking | null>(null);
export const popular = signal<Ranking | null>(null);
export const ledger = signal<Ledger | null>(null);
export const meter = signal<Metered | null>(null);
export const trouble = signal(""); // one sentence, until it is closed
export const paused = signal(false);
export const online = signal(true);
export const gone = signal<string | null>(null); // everything was deleted; what went wrong with leaving, or ""
export const liked = computed(() => new Set(likes.value.map(({ item }) => item)));
export const popularity = computed(() => new Map((popular.value?.list ?? []).map(({ item }, place) => [item, place])));
export const sent = computed(() => (ledger.value?.traffic ?? []).filter(isUpload));

let device: BrowserDevice | null = null;
let staying: AbortController | null = null;

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
    if (!trouble.value) trouble.value = texts.errors.offline; // what was refused has said so itself
    return;
  }
  titles.value = await Titles.fetch();
  status.value = made.status();
  likes.value = made.likes();
  if (made.status().model) await guarded(async () => void (popular.value = await made.popular(KNOWN)));
  await refresh();
  if (likes.value.length && !location.hash) screen.value = "for-you";
  if (takesPart()) stay();
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

/** In place of all others. */
export function setLikes(wanted: readonly Like[]): Promise<void> {
  return changed((of) => of.setLikes(wanted));
}

/** These too, or no longer. */
export function like(some: readonly Like[], on = true): Promise<void> {
  return changed((of) => of.like(some, on));
}

async function changed(work: (of: BrowserDevice) => Promise<void>): Promise<void> {
  await guarded(async () => {
    await work(theDevice());
    likes.value = theDevice().likes();
    await rank();
  });
}

export function toggle(item: number): Promise<void> {
  return like([{ item, value: 1, time: Math.floor(Date.now() / 1000) }], !liked.value.has(item));
}

/** Allow it, take a place if she has none, and take part. */
export async function share(pi: number): Promise<boolean> {
  const done = await guarded(async () => {
    const { stage, federation } = theDevice().status();
    if (pi > 0 && stage !== "member") await theDevice().join({ minimum: federation!.minimum });
    await theDevice().allow({ train: pi > 0, statistics: pi > 0, pi });
    return true;
  });
  if (takesPart()) stay();
  else staying?.abort();
  await refresh();
  return done ?? false;
}

export function pause(on: boolean): void {
  paused.value = on;
  if (on) staying?.abort();
  else if (takesPart()) stay();
}

export async function refresh(): Promise<void> {
  await guarded(async () => {
    ledger.value = await theDevice().ledger();
    meter.value = await readMeter(ledger.value.traffic);
  });
  await rank();
}

/** Tell the federation, and forget everything: also what the meter counted and the kept page. */
export async function erase(): Promise<void> {
  await guarded(async () => {
    staying?.abort();
    const why = await theDevice().leave();
    await forgetPage();
    gone.value = why ?? "";
    trouble.value = ""; // whatever was at work could no longer read or write
  });
}

function takesPart(): boolean {
  const now = theDevice().status();
  return now.stage === "member" && now.permission.train && !paused.value;
}

function stay(): void {
  if (staying && !staying.signal.aborted) return;
  const mine = (staying = new AbortController());
  const tell = (last: VisitOutcome): void => {
    if (last.kind === "gone-back") trouble.value = last.why;
    void refresh();
  };
  void guarded(() => theDevice().stay(mine.signal, tell)).finally(() => {
    mine.abort();
    void refresh();
  });
}

async function rank(): Promise<void> {
  if (!likes.value.length || !theDevice().status().model) {
    ranking.value = null;
    return;
  }
  await guarded(async () => void (ranking.value = await theDevice().recommend(SHOWN)));
}
