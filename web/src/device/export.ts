/** Everything a device holds as one JSON text, and back: a file of its owner's, who moves with it. */

import { fromHex, toHex } from "../bytes.ts";
import type { Changes, DeviceStorage } from "./storage.ts";
import { DeviceError } from "./types.ts";

const KIND = "murmura device";
const VERSION = 1;
const NAMES = ["identity", "permission", "likes", "memory", "requests"];
const LISTS = ["journal/", "receipts/", "traffic/"];
const ARRAYS = { Uint8Array, Int32Array, Float32Array, Float64Array } as const;

export async function exportedText(storage: DeviceStorage): Promise<string> {
  const values: Record<string, unknown> = {};
  for (const name of NAMES) {
    const value = await storage.read(name);
    if (value !== undefined) values[name] = value;
  }
  for (const prefix of LISTS) values[prefix] = await storage.list(prefix);
  return JSON.stringify({ kind: KIND, version: VERSION, values }, plain, 1);
}

/** What to write into an empty storage; refuses any other file. */
export function readExport(text: string): Changes {
  try {
    const read = JSON.parse(text, revived) as { kind: unknown; version: unknown; values: Record<string, unknown> };
    if (read.kind !== KIND || read.version !== VERSION) throw new TypeError();
    const changes: Changes = {};
    for (const name of NAMES) if (name in read.values) changes[name] = read.values[name];
    for (const prefix of LISTS) {
      (read.values[prefix] as unknown[]).forEach((one, n) => {
        if (typeof one !== "object" || one === null) throw new TypeError();
        changes[`${prefix}${String(n).padStart(9, "0")}`] = one;
      });
    }
    return changes;
  } catch {
    throw new DeviceError("the file must be one that this page wrote under 'my data', but is not; choose that file.");
  }
}

/** Arrays of numbers by their bytes, which is exact. */
function plain(_name: string, value: unknown): unknown {
  for (const [kind, made] of Object.entries(ARRAYS)) {
    if (value instanceof made) {
      return { array: kind, bytes: toHex(new Uint8Array(value.buffer, value.byteOffset, value.byteLength)) };
    }
  }
  return value;
}

function revived(_name: string, value: unknown): unknown {
  const one = value as { array?: unknown; bytes?: unknown } | null;
  if (typeof one?.array !== "string" || typeof one.bytes !== "string" || !(one.array in ARRAYS)) return value;
  return new ARRAYS[one.array as keyof typeof ARRAYS](fromHex(one.bytes).buffer);
}
