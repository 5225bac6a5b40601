/** What the ledger says has left: every sentence of the page about it is made of this, and of nothing else. */

import type { Ledger, TrafficEntry } from "../device/types.ts";
import { bytesText, texts } from "./texts.ts";

export interface PageState {
  ledger: Ledger | null; // null: not read yet
  deleted: boolean;
  paused: boolean;
  undeclared: number; // requests that the meter counted and the page did not write down
}

/** The requests that tell something about a person: whatever has a body, or gives a place back. */
export function requestsAboutHer(ledger: Ledger | null): TrafficEntry[] {
  return (ledger?.traffic ?? []).filter(({ bytes, method }) => bytes > 0 || method === "DELETE");
}

/** The one sentence that is always in sight. */
export function pillText({ ledger, deleted, paused, undeclared }: PageState): string {
  const said = texts.pill;
  if (deleted) return said.deleted;
  if (undeclared) return said.undeclared;
  if (paused) return texts.paused;
  if (!ledger) return said.unknown;
  const bytes = bytesText(ledger.bytesUp);
  if (ledger.entries.length) return said.uploads(ledger.entries.length, bytes);
  return requestsAboutHer(ledger).length ? said.asked(bytes) : said.nothing;
}
