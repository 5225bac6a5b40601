/**
 * The device's ledger: every upload in a line bound to the one before it by a hash, written before its first byte
 * may leave. The hashes are those of `murmura ledger`: an exported journal can be verified there.
 */

import { utf8 } from "../bytes.ts";
import { sha256Hex } from "../crypto/hashing.ts";
import { spelledString } from "../protocol/canonical.ts";
import { spelledDouble } from "../doubles.ts";
import { DeviceError } from "./types.ts";

export const START = "0".repeat(64); // the hash before the first line

export interface JournalEntry {
  time: string; // UTC, ISO 8601
  round: number;
  phase: string;
  manifest: string; // hash
  bytes: number;
  rows: number;
  disclosed: number;
  epsilon: number | null;
  delta: number | null;
}

export interface JournalLine {
  entry: JournalEntry;
  hash: string;
  items: number[]; // the likes it shows as such; for its owner's eyes, not part of the hash
}

/** The text that is hashed: keys ascending, doubles spelled as such. */
export function entryText(entry: JournalEntry): string {
  const { time, round, phase, manifest, bytes, rows, disclosed, epsilon, delta } = entry;
  const optional = (name: string, value: number | null) => (value === null ? "" : `"${name}":${spelledDouble(value)},`);
  return (
    `{"bytes":${bytes},${optional("delta", delta)}"disclosed":${spelledDouble(disclosed)},` +
    `${optional("epsilon", epsilon)}"event":"upload","manifest":${spelledString(manifest)},` +
    `"phase":${spelledString(phase)},"round":${round},"rows":${rows},"time":${spelledString(time)}}`
  );
}

export function link(before: string, entry: JournalEntry): Promise<string> {
  return sha256Hex(utf8(before + entryText(entry)));
}

/** The head of a journal; refuses an edited, exchanged or removed line. `lines` is how many there must be. */
export async function verifyJournal(lines: readonly JournalLine[], count: number, head: string): Promise<string[]> {
  const heads = [START];
  for (const [number, { entry, hash }] of lines.entries()) {
    if ((await link(heads.at(-1)!, entry)) !== hash) {
      throw new DeviceError(
        `line ${number + 1} of the ledger must follow from the lines before it, but was changed, or a line was removed; ` +
          "nothing more leaves.",
      );
    }
    heads.push(hash);
  }
  if (lines.length !== count || heads.at(-1) !== head) {
    throw new DeviceError(
      `the ledger must have ${count} lines, but has ${lines.length}, or others; nothing more leaves.`,
    );
  }
  return heads;
}

/** As `murmura ledger verify` reads it, by the names of its files. */
export function journalFiles(lines: readonly JournalLine[]): Record<string, string> {
  const text = lines.map(({ entry, hash }) => `{"entry": ${entryText(entry)}, "hash": "${hash}"}\n`).join("");
  return { "journal.jsonl": text, "journal.head": `${lines.length} ${lines.at(-1)?.hash ?? START}\n` };
}

export function journalCsv(lines: readonly JournalLine[]): string {
  const names = [
    "time",
    "round",
    "phase",
    "manifest",
    "bytes",
    "rows",
    "disclosed",
    "event",
    "epsilon",
    "delta",
  ] as const;
  const rows = lines.map(({ entry }) =>
    names.map((name) => (name === "event" ? "upload" : (entry[name] ?? ""))).join(","),
  );
  return [names.join(","), ...rows].join("\n") + "\n";
}
