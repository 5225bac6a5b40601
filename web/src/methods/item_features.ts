/** What is publicly known of the items, as features: how it travels, and how a person reads it (docs/wire.md). */

import { concat, text, view } from "../bytes.ts";
import { malformed } from "../refusals.ts";

/** Item i has feature[start[i]] to before feature[start[i + 1]], ascending. */
export interface ItemFeatures {
  labels: string[]; // as their source writes them
  start: Uint32Array; // (items + 1,)
  feature: Int32Array; // (pairs,)
}

const MAGIC = [0x6d, 0x66, 1];
const LARGEST = 1 << 26;
const SIZES = 12;
const HOP = "~";

export function featuresOf(features: ItemFeatures, item: number): Int32Array {
  return features.feature.subarray(features.start[item], features.start[item + 1]);
}

/** How far from the item a feature lies; 1 where its source does not say. */
export function hopsOf(label: string): number {
  const at = label.indexOf("=");
  return at < 0 ? 1 : Math.min(label.slice(0, at).split(HOP).length, 255);
}

/** The features in such bytes; refuses anything else. */
export async function readFeatures(content: Uint8Array): Promise<ItemFeatures> {
  const raw = await unpacked(content);
  const seen = view(raw);
  const [items, features, pairs] = [0, 4, 8].map((at) => seen.getUint32(at, true)) as [number, number, number];
  const textAt = SIZES + 4 * (items + pairs);
  if (textAt > raw.length) throw malformed("item features must be as long as they say, but are shorter.");
  const counts = planes(raw, SIZES, items);
  const steps = planes(raw, SIZES + 4 * items, pairs);
  if (counts.reduce((sum, n) => sum + n, 0) !== pairs || features > pairs) {
    throw malformed("item features must have the counts they state, but have others.");
  }
  const labels = readLabels(raw.subarray(textAt), features);
  const start = new Uint32Array(items + 1);
  const feature = new Int32Array(pairs);
  for (let item = 0, at = 0; item < items; item++) {
    for (let n = 0, last = 0; n < counts[item]!; n++, at++) {
      last += steps[at]!;
      if (last >= features || (n && steps[at] === 0)) {
        throw malformed("the features of an item must ascend and be known ones, but are not.");
      }
      feature[at] = last;
    }
    start[item + 1] = at;
  }
  return { labels, start, feature };
}

/** What was compressed, of which no more is unpacked than any catalogue has. */
async function unpacked(content: Uint8Array): Promise<Uint8Array> {
  const wrong = malformed("item features must be in the form of docs/wire.md, but are not.");
  if (!MAGIC.every((byte, place) => content[place] === byte)) throw wrong;
  const reader = new Blob([concat(content.subarray(3))])
    .stream()
    .pipeThrough(new DecompressionStream("deflate"))
    .getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      parts.push(next.value);
      length += next.value.length;
      if (length > LARGEST) throw wrong;
    }
  } catch {
    await reader.cancel().catch(() => undefined);
    throw wrong;
  }
  const raw = concat(...parts);
  // not every implementation refuses what follows a stream, whose last bytes are its check
  if (length < SIZES || view(content).getUint32(content.length - 4) !== adler32(raw)) throw wrong;
  return raw;
}

/** The check of a zlib stream (RFC 1950). */
function adler32(bytes: Uint8Array): number {
  let low = 1;
  let high = 0;
  for (const byte of bytes) {
    low = (low + byte) % 65521;
    high = (high + low) % 65521;
  }
  return high * 65536 + low;
}

/** 32-bit words stored byte plane by byte plane, the lowest first. */
function planes(raw: Uint8Array, at: number, n: number): Uint32Array {
  return Uint32Array.from(
    { length: n },
    (_, place) =>
      raw[at + place]! +
      raw[at + n + place]! * 2 ** 8 +
      raw[at + 2 * n + place]! * 2 ** 16 +
      raw[at + 3 * n + place]! * 2 ** 24,
  );
}

function readLabels(bytes: Uint8Array, features: number): string[] {
  try {
    const labels = features ? text(bytes).split("\n") : [];
    if (labels.length === features && (features || !bytes.length)) return labels;
  } catch {
    // said below
  }
  throw malformed("item features must have a label each, a line of UTF-8, but have not.");
}

/** What a person reads; of two features that read alike, one from an infobox of DBpedia says so. */
export function readableNames(labels: readonly string[]): string[] {
  const plain = labels.map((label) => readable(label, false));
  const count = new Map<string, number>();
  for (const name of plain) count.set(name, (count.get(name) ?? 0) + 1);
  return plain.map((name, n) => (count.get(name) === 1 ? name : readable(labels[n]!, true)));
}

/** `author~birthPlace=http://…/Dublin` is "author → birth place: Dublin". */
function readable(label: string, origin: boolean): string {
  const at = label.indexOf("=");
  if (at < 0) return `feature: ${lastPart(label)}`;
  const hops = label
    .slice(0, at)
    .split(HOP)
    .map((hop) => readableHop(hop, origin));
  return `${hops.join(" → ")}: ${lastPart(label.slice(at + 1))}`;
}

function readableHop(hop: string, origin: boolean): string {
  const words = unquoted(lastPart(hop))
    .replaceAll("_", " ")
    .replace(/(?<=[a-z0-9])(?=[A-Z])/g, " ")
    .toLowerCase();
  return origin && hop.startsWith("http://dbpedia.org/property/") ? `${words} (infobox)` : words;
}

/** The last part of an address, without its escapes; other text as it is. */
function lastPart(whole: string): string {
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:\/\/\S*$/.test(whole)) return whole;
  const named = /\/(?:resource|entity)\//.exec(whole);
  const beyond = named ? whole.slice(named.index + named[0].length) : "";
  const last =
    beyond ||
    whole
      .replace(/[/#]+$/, "")
      .split(/[/#]/)
      .at(-1)!;
  return unquoted(last).replaceAll("_", " ").trim();
}

function unquoted(escaped: string): string {
  try {
    return decodeURIComponent(escaped);
  } catch {
    return escaped;
  }
}
