/** What the page says has left, and what it says was measured: of this ledger and this federation, or that it is not known. */

import { expect, test } from "vitest";
import type { Ledger, LedgerEntry, TrafficEntry } from "../src/device/types.ts";
import { levelText, observerText } from "../src/ui/measured.ts";
import { newest } from "../src/ui/newest.ts";
import { pillText, requestsAboutHer } from "../src/ui/what_left.ts";

const line = (method: "GET" | "POST" | "DELETE", bytes: number) => ({ method, bytes }) as TrafficEntry;
const ledgerOf = (uploads: number, ...traffic: TrafficEntry[]): Ledger => ({
  entries: Array.from({ length: uploads }, () => ({}) as LedgerEntry),
  traffic,
  bytesUp: traffic.reduce((sum, { bytes }) => sum + bytes, 0),
  bytesDown: 0,
  head: "",
});
const calm = { deleted: false, paused: false, undeclared: 0 };
const EMPTY = ledgerOf(0, line("GET", 0)),
  ASKED = ledgerOf(0, line("POST", 90)),
  SENT = ledgerOf(2, line("POST", 48), line("POST", 4000));

test.each([
  ["nothing in the ledger", { ...calm, ledger: EMPTY }, "Nothing has left this browser"],
  ["a place was taken", { ...calm, ledger: ASKED }, "No upload yet (90 bytes): see"],
  ["uploads", { ...calm, ledger: SENT }, "2 uploads, 4.0 kB: see"],
  ["a pause after uploads", { ...calm, paused: true, ledger: SENT }, "Paused: nothing leaves"],
  ["a pause before any", { ...calm, paused: true, ledger: EMPTY }, "Paused: nothing leaves"],
  ["an undeclared request", { ...calm, paused: true, undeclared: 1, ledger: SENT }, /did not declare/],
  ["the ledger is not read", { ...calm, ledger: null }, /not known/],
  ["all is deleted", { ...calm, deleted: true, paused: true, ledger: SENT }, "Everything here is deleted"],
] as const)("the pill says what the ledger has: %s", (_, state, says) => {
  expect(pillText(state)).toMatch(says);
});

test.each([EMPTY, ASKED, SENT, null])("after everything is deleted nothing is said to have left", (ledger) => {
  expect(pillText({ ...calm, deleted: true, ledger })).not.toMatch(/left|upload|bytes|kB/);
});

test("to fetch tells nothing; to send and to leave do", () => {
  expect(requestsAboutHer(ledgerOf(0, line("GET", 0), line("POST", 1), line("DELETE", 0)))).toHaveLength(2);
});

test.each([
  [
    { method: "cfpl", epsilon: null, minimum: 500 },
    1,
    /sum of 500 people .* yours 60 times in 100; .* everyone shares everything/,
  ],
  [{ method: "cfpl", epsilon: null, minimum: 100 }, 1, /sum of 100 people/],
  [{ method: "cfpl", epsilon: null, minimum: 500 }, 0.5, /^Not measured at this share\. At everything: /],
  [{ method: "cfpl", epsilon: null, minimum: 30 }, 1, /^The odds are not measured for sums of 30 people/],
  [{ method: "cfpl", epsilon: 2, minimum: 500 }, 1, /not measured/],
  [{ method: "kgflex", epsilon: null, minimum: 500 }, 1, /not measured/],
])("the odds are those of %j, or not measured", (group, pi, says) => {
  expect(observerText(group, pi)).toMatch(says);
});

test("a share has its price on both sides, or is not measured", () => {
  const sums = { method: "fed-ease", epsilon: null };
  expect(levelText(sums, 0.5)).toMatch(/^10\.8 of 100 .* 10\.9 if you shared everything\. .* yours 75 times in 100/);
  expect(levelText(sums, 0.55)).toBe("not measured");
  expect(levelText({ ...sums, epsilon: 4 }, 0.5)).toBe("not measured");
});

test("a slow answer to an older question does not overwrite the newer one", async () => {
  const taken: string[] = [];
  const ask = newest<string>((made) => void taken.push(made));
  let finish = (_: string) => {};
  const slow = ask(() => new Promise((resolve) => (finish = resolve)));
  await ask(async () => "newer");
  finish("older");
  await slow;
  expect(taken).toEqual(["newer"]);
});
