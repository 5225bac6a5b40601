/** What a device knows: who it is, what it has learned and decided. Replaced as a whole or not at all. */

import { epsilonOf } from "../channel/accountant.ts";
import type { ClientState } from "../methods/method.ts";
import type { Secret } from "../numerics/philox.ts";
import type { SeenHead } from "../protocol/log.ts";
import type { LostLog } from "../protocol/signed_records.ts";
import type { Permission, PinnedBy } from "./types.ts";

const REMEMBERED = 64; // exchanges, to answer none twice
export const TRAINING = -1; // in place of a window, where all answers to a phase of training are counted

/** Who a device is and what it pinned; nobody else has it. */
export interface Identity {
  url: string; // of the coordinator
  terms: Uint8Array; // content: no others are taken part under
  pinnedBy: PinnedBy; // who said which terms these are
  admission: Uint8Array | null; // (104,) of the invitation
  secret: Secret;
  token: string; // 64 hexadecimal digits; asked for again it is the same place
  place: number | null; // null: a visitor, who has none
  minimum: number;
  readable: boolean;
  exact: boolean; // whether its owner allows sums without noise that everybody can read
}

/** An upload that has been prepared: enough to send the same again, not the update itself. */
export interface PendingUpload {
  manifest: string;
  seed: string;
  salt: string;
  digest: string; // of everything that is sent, before it is sealed
}

export interface Answered {
  phase: string;
  window: number;
  times: number;
}

/** What a vector must repeat that follows another exchange. */
export interface LinkedVector {
  phase: string;
  window: number;
  digest: string;
}

export interface DeviceMemory {
  state: ClientState | null; // null before the first round
  serial: number; // of the last manifest that is dealt with
  manifest: string; // its hash
  exchanges: [round: number, phase: string][]; // the last uploads
  joined: number[]; // items in the shared set, in the order they joined
  sent: number[]; // items ever disclosed
  pending: PendingUpload | null;
  answered: Answered[];
  log: SeenHead | null; // the newest head that was seen
  spent: number; // mu squared of all uploads whose sums had noise
  unbounded: number; // uploads whose sums had none
  linked?: LinkedVector | null; // of the last proved counts
  lines: number; // of the journal
  head: string; // of the journal
}

export const NO_CONSENT: Permission = {
  paused: false,
  train: false,
  pi: 0,
  statistics: false,
  never: [],
  epsilon: null,
};

export function freshMemory(head: string): DeviceMemory {
  return {
    state: null,
    serial: -1,
    manifest: "",
    exchanges: [],
    joined: [],
    sent: [],
    pending: null,
    answered: [],
    log: null,
    spent: 0,
    unbounded: 0,
    lines: 0,
    head,
  };
}

/** How often a phase was answered in a window. */
export function answers(memory: DeviceMemory, phase: string, window: number): number {
  return memory.answered.find((one) => one.phase === phase && one.window === window)?.times ?? 0;
}

/** It is answered once more; what was answered in earlier windows is of no use. */
export function answering(memory: DeviceMemory, phase: string, window: number): DeviceMemory {
  const others = memory.answered.filter((one) => one.phase !== phase);
  return { ...memory, answered: [...others, { phase, window, times: answers(memory, phase, window) + 1 }] };
}

/** One upload more, to a sum with noise of this multiple of the longest contribution; 0: without. */
export function spending(memory: DeviceMemory, multiplier: number): DeviceMemory {
  if (!multiplier) return { ...memory, unbounded: memory.unbounded + 1 };
  return { ...memory, spent: memory.spent + multiplier ** -2 };
}

/** What noise bounds all uploads so far to; infinite where one had none. */
export function epsilonSpent(memory: DeviceMemory, delta: number): number {
  return memory.unbounded ? Infinity : epsilonOf(Math.sqrt(memory.spent), delta);
}

export function exchanging(memory: DeviceMemory, round: number, phase: string): DeviceMemory {
  const others = memory.exchanges.filter(([at, name]) => at !== round || name !== phase);
  return { ...memory, exchanges: [...others, [round, phase] as [number, string]].slice(-REMEMBERED) };
}

export function dealtWith(memory: DeviceMemory, serial: number, manifest: string): DeviceMemory {
  return { ...memory, serial, manifest, pending: null };
}

/** Her owner agrees that the log ends there; what was answered stays, and no number comes back. */
export function ended(memory: DeviceMemory, lost: LostLog | null): DeviceMemory {
  if (!lost || !memory.log || memory.log.size <= lost.entries) return memory;
  return { ...memory, log: { size: lost.entries, root: lost.root } };
}
