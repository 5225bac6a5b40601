/** The named values of a device in its storage, and how journal and memory are written together. */

import { checkSignature } from "../crypto/signatures.ts";
import { concat, fromHex } from "../bytes.ts";
import { journalMark } from "../protocol/report.ts";
import type { FederationTerms } from "../protocol/terms.ts";
import { type JournalEntry, type JournalLine, link, START, verifyJournal } from "./journal.ts";
import { type DeviceMemory, freshMemory, type Identity, NO_CONSENT } from "./memory.ts";
import type { DeviceStorage } from "./storage.ts";
import type { Like, Permission } from "./types.ts";

/** What the machines that took an upload signed; everything in hexadecimal. */
export interface Receipt {
  terms: string;
  manifest: string;
  report: string;
  head: string; // of the journal, after the line of this upload
  salt: string;
  signatures: string[];
  proved?: string; // commitment and challenge of what was proved: the seed aggregator's covers them too
}

export class Records {
  constructor(readonly storage: DeviceStorage) {}

  identity(): Promise<Identity | undefined> {
    return this.storage.read<Identity>("identity");
  }

  async memory(): Promise<DeviceMemory> {
    return (await this.storage.read<DeviceMemory>("memory")) ?? freshMemory(START);
  }

  /** Replace it; when this returns it is safe. */
  async keep(memory: DeviceMemory, more: Record<string, unknown> = {}): Promise<DeviceMemory> {
    await this.storage.write({ ...more, memory });
    return memory;
  }

  async permission(): Promise<Permission> {
    return { ...NO_CONSENT, ...(await this.storage.read<Partial<Permission>>("permission")) };
  }

  async likes(): Promise<Like[]> {
    return (await this.storage.read<Like[]>("likes")) ?? [];
  }

  journal(): Promise<JournalLine[]> {
    return this.storage.list<JournalLine>("journal/");
  }

  receipts(): Promise<Receipt[]> {
    return this.storage.list<Receipt>("receipts/");
  }

  /** Write down an upload before it leaves, once per manifest; the whole journal is verified first. */
  async note(memory: DeviceMemory, entry: JournalEntry, items: number[]): Promise<DeviceMemory> {
    const lines = await this.journal();
    await verifyJournal(lines, memory.lines, memory.head);
    if (lines.at(-1)?.entry.manifest === entry.manifest) return this.keep(memory);
    const hash = await link(memory.head, entry);
    const line: JournalLine = { entry, hash, items };
    return this.keep({ ...memory, lines: memory.lines + 1, head: hash }, { [`journal/${number(memory.lines)}`]: line });
  }

  async keepReceipt(receipt: Receipt, memory: DeviceMemory): Promise<void> {
    await this.keep(memory, { [`receipts/${number(memory.lines)}`]: receipt });
  }
}

/** Refuse a receipt that the machines of these terms did not sign. */
export async function checkReceipt(receipt: Receipt, terms: FederationTerms): Promise<void> {
  const keys = terms.readable ? [terms.fields.coordinator] : terms.aggregators.map((one) => one.key);
  const mark = await journalMark(fromHex(receipt.salt), receipt.head);
  const content = concat(fromHex(receipt.manifest), fromHex(receipt.report), mark);
  for (const [place, key] of keys.entries()) {
    const covered = place === 0 ? concat(content, fromHex(receipt.proved ?? "")) : content;
    await checkSignature(key, "receipt", covered, fromHex(receipt.signatures[place] ?? ""));
  }
}

function number(n: number): string {
  return String(n).padStart(9, "0");
}
