/** The public description of a federation: the items by name, and how large it is. */

import { text } from "../bytes.ts";
import type { FederationInfo } from "../channel/layout.ts";
import type { Label } from "../device/types.ts";
import { unpackArrays } from "../message/arrays.ts";
import { malformed } from "../refusals.ts";

export interface Description {
  labels: Label[];
  info: FederationInfo;
  features: { count: number; hash: string } | null;
}

const END = 2 ** 32;

export function readDescription(content: Uint8Array): Description {
  const read = object(content);
  const { items, listed, clients, interactions, people, counts } = read;
  if (read.task !== undefined) throw malformed("this page recommends items, but the federation classifies samples.");
  const labels = ["string", "number"].some((kind) => Array.isArray(items) && items.every((one) => typeof one === kind));
  const whole = (n: unknown) => Number.isInteger(n) && (n as number) >= 0 && (n as number) < END;
  if (!labels || !Array.isArray(listed) || ![clients, interactions, people].every(whole) || people === 0) {
    throw malformed("a description must have the fields of docs/wire.md, but has not.");
  }
  const n = (items as Label[]).length;
  if (!listed.every((item, place) => whole(item) && item < n && (place === 0 || item > listed[place - 1]))) {
    throw malformed("the listed items must be numbers of items, ascending, but are not.");
  }
  const info: FederationInfo = {
    items: n,
    listed: listed as number[],
    clients: clients as number,
    interactions: interactions as number,
    people: people as number,
    counts: counts === null ? null : checkedCounts(counts, n),
  };
  const features = featuresNamed(read.features);
  return { labels: items as Label[], info: features ? { ...info, featureCount: features.count } : info, features };
}

/** The counts of items that an exchange has made public. */
export function readCounts(content: Uint8Array, items: number): number[] {
  const read = unpackArrays(content).counts;
  if (!read || read.type !== "<u4" || read.shape.length !== 1 || read.shape[0] !== items) {
    throw malformed("the counts must be one uint32 for every item, but are something else.");
  }
  return Array.from(read.values as Uint32Array);
}

function object(content: Uint8Array): Record<string, unknown> {
  try {
    const read: unknown = JSON.parse(text(content));
    if (typeof read === "object" && read !== null && !Array.isArray(read)) return read as Record<string, unknown>;
  } catch {
    // said below
  }
  throw malformed("a description must be a JSON object, but is something else.");
}

function checkedCounts(counts: unknown, items: number): number[] {
  const fits = Array.isArray(counts) && counts.length === items && counts.every((n) => Number.isInteger(n) && n >= 0);
  if (!fits || (counts as number[]).reduce((a, b) => a + b, 0) >= END) {
    throw malformed("counts of items must be from 0 and add up to less than 2**32, but do not.");
  }
  return counts as number[];
}

function featuresNamed(features: unknown): { count: number; hash: string } | null {
  if (features === undefined) return null;
  const [count, hash] = Array.isArray(features) ? (features as unknown[]) : [];
  if (!Number.isInteger(count) || typeof hash !== "string" || !/^[0-9a-f]{64}$/.test(hash)) {
    throw malformed("a description must name its features by number and hash, but does not.");
  }
  return { count: count as number, hash };
}
