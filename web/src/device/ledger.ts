/** What left, for its owner: the journal, verified, with what countersigns it, and every request. */

import type { FederationTerms } from "../protocol/terms.ts";
import { verifyJournal } from "./journal.ts";
import { checkReceipt, type Receipt, type Records } from "./records.ts";
import type { Ledger, TrafficEntry } from "./types.ts";

export async function readLedger(records: Records, terms: FederationTerms | null): Promise<Ledger> {
  const [memory, lines, receipts, traffic] = await Promise.all([
    records.memory(),
    records.journal(),
    records.receipts(),
    records.storage.list<TrafficEntry>("traffic/"),
  ]);
  await verifyJournal(lines, memory.lines, memory.head);
  const signed = new Set((await Promise.all(terms ? receipts.map((one) => countersigned(one, terms)) : [])).flat());
  const entries = lines.map(({ entry, hash, items }) => {
    const { delta: _, ...shown } = entry;
    return { ...shown, items, hash, countersigned: signed.has(hash) };
  });
  const sum = (of: (one: TrafficEntry) => number) => traffic.reduce((total, one) => total + of(one), 0);
  return {
    entries,
    traffic: traffic.sort((a, b) => a.id - b.id),
    bytesUp: sum((one) => one.bytes),
    bytesDown: sum((one) => one.received),
    head: memory.head,
  };
}

async function countersigned(receipt: Receipt, terms: FederationTerms): Promise<string[]> {
  try {
    await checkReceipt(receipt, terms);
    return [receipt.head];
  } catch {
    return [];
  }
}
