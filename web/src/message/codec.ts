/**
 * Updates and public models as bytes: little-endian, rows in ascending order, exact lengths (docs/wire.md).
 * A reader trusts no length: it checks the whole message against the declaration before it makes an array.
 */

import { type Bytes, concat, toHex, u32, view } from "../bytes.ts";
import { sha256 } from "../crypto/hashing.ts";
import { malformed } from "../refusals.ts";
import {
  checkUpdate,
  emptyValues,
  mark,
  type MessageSpec,
  modelBytes,
  rowBytes,
  type TableSpec,
  type Update,
  type Values,
} from "./declaration.ts";
import { float16Table } from "./float16.ts";

const VERSION = 2;
const HEADER = 8;
const HASH = 32;
const LARGEST_EXPONENT = 121;
export type Tables = Record<string, Values>; // every row of every table, row after row

/** The update as it travels; refuses what is not declared. */
export async function encodeUpdate(update: Update, sends: MessageSpec): Promise<Bytes> {
  checkUpdate(sends, update);
  const parts: Uint8Array[] = [await header(sends, "mu")];
  for (const name of sends.scalars) parts.push(doubles([update.scalars[name]!]));
  for (const one of sends.tables) {
    const { index, values } = update.tables[one.name]!;
    parts.push(u32(index.length));
    if (one.space !== "dense") parts.push(...Array.from(index, u32));
    parts.push(packed(values));
  }
  return concat(...parts);
}

/** The update that was sent; refuses anything a well-behaved device cannot have sent. */
export async function decodeUpdate(content: Uint8Array, sends: MessageSpec): Promise<Update> {
  const reader = await Reader.of(content, sends, "mu");
  const update: Update = { tables: {}, scalars: {} };
  for (const name of sends.scalars) update.scalars[name] = reader.double();
  for (const one of sends.tables) {
    const count = reader.count(one, one.rows);
    const index = one.space === "dense" ? Int32Array.from({ length: count }, (_, n) => n) : reader.index(one, count);
    update.tables[one.name] = { index, values: reader.values(one, count) };
  }
  reader.finish();
  checkUpdate(sends, update);
  return update;
}

/** The tables of a public model; items not on offer hold zeros. */
export async function decodeModel(
  content: Uint8Array,
  publishes: MessageSpec,
  listed: readonly number[],
): Promise<Tables> {
  const reader = await Reader.of(content, publishes, "mu");
  const model: Tables = {};
  if (content.length !== modelBytes(publishes, listed.length)) {
    throw malformed(`a model must have ${modelBytes(publishes, listed.length)} bytes, but has ${content.length}.`);
  }
  for (const one of publishes.tables) {
    const here = one.space === "item" ? listed : null;
    const rows = here?.length ?? one.rows;
    if (reader.count(one, rows) !== rows) throw malformed(`the model's '${one.name}' must have ${rows} rows.`);
    const values = reader.values(one, rows);
    model[one.name] = here ? spread(one, values, here) : values;
  }
  reader.finish();
  return model;
}

/** The whole message that changes lead to from the whole message of their base; refuses those of another. */
export async function applyChanges(
  base: Uint8Array,
  changes: Uint8Array,
  publishes: MessageSpec,
  listed: readonly number[],
): Promise<Bytes> {
  const reader = await Reader.of(changes, publishes, "mc");
  const named = await sha256(base);
  const wanted = reader.take(HASH, "base");
  if (toHex(named) !== toHex(wanted)) {
    throw malformed(`changes must be of the model ${toHex(named).slice(0, 16)} that is here, but are of another.`);
  }
  const whole = concat(base);
  const places = new Map(listed.map((item, place) => [item, place]));
  let at = HEADER;
  for (const one of publishes.tables) {
    const rows = one.space === "item" ? listed.length : one.rows;
    const index = reader.index(one, reader.count(one, rows));
    const ascends = index.every((row, n) => n === 0 || row > index[n - 1]!);
    if (!ascends || (one.space === "item" && !index.every((row) => places.has(row)))) {
      throw malformed(`the changed rows of '${one.name}' must be on offer and ascend, but do not.`);
    }
    at += 4;
    if (one.dtype === "int8") rescale(whole, at++, reader.exponent(one), rows * one.width);
    for (const row of index) {
      const place = one.space === "item" ? places.get(row)! : row;
      whole.set(reader.take(rowBytes(one), `values of '${one.name}'`), at + place * rowBytes(one));
    }
    at += rows * rowBytes(one);
  }
  reader.finish();
  return whole;
}

/** Unchanged rows of an int8 table stand for the same numbers under another power of two. */
function rescale(whole: Bytes, at: number, exponent: number, length: number): void {
  const numbers = new Int8Array(whole.buffer, at, 1 + length);
  const factor = 2 ** (numbers[0]! - exponent);
  numbers[0] = exponent;
  for (let place = 1; place <= length && factor !== 1; place++) numbers[place] = numbers[place]! * factor;
}

class Reader {
  private at = HEADER;
  private readonly seen: DataView;

  private constructor(private readonly content: Uint8Array) {
    this.seen = view(content);
  }

  static async of(content: Uint8Array, declared: MessageSpec, magic: "mu" | "mc"): Promise<Reader> {
    const expected = await header(declared, magic);
    if (content.length < HEADER || toHex(content.subarray(0, HEADER)) !== toHex(expected)) {
      throw malformed(
        `a message must begin with '${magic}', version ${VERSION} and the mark of its declaration, but does not; ` +
          "both sides need the same configuration.",
      );
    }
    return new Reader(content);
  }

  take(length: number, what: string): Uint8Array {
    if (this.at + length > this.content.length) {
      throw malformed(`a message must be at least ${this.at + length} bytes long to hold its ${what}, but is not.`);
    }
    this.at += length;
    return this.content.subarray(this.at - length, this.at);
  }

  count(one: TableSpec, most: number): number {
    this.take(4, `number of rows of '${one.name}'`);
    const count = this.seen.getUint32(this.at - 4, true);
    if (count > most) throw malformed(`'${one.name}' must have at most ${most} rows, but the message claims ${count}.`);
    return count;
  }

  index(one: TableSpec, count: number): Int32Array {
    const start = this.at;
    this.take(4 * count, `row numbers of '${one.name}'`);
    const rows = Array.from({ length: count }, (_, n) => this.seen.getUint32(start + 4 * n, true));
    if (rows.some((row) => row >= one.rows)) {
      throw malformed(`the row numbers of '${one.name}' must stay below ${one.rows}, but one does not.`);
    }
    return Int32Array.from(rows);
  }

  double(): number {
    this.take(8, "scalars");
    return this.seen.getFloat64(this.at - 8, true);
  }

  exponent(one: TableSpec): number {
    this.take(1, `exponent of '${one.name}'`);
    const exponent = this.seen.getInt8(this.at - 1);
    if (exponent > LARGEST_EXPONENT) {
      throw malformed(`the exponent of '${one.name}' must be at most ${LARGEST_EXPONENT}, but is ${exponent}.`);
    }
    return exponent;
  }

  values(one: TableSpec, count: number): Values {
    const scale = one.dtype === "int8" ? 2 ** this.exponent(one) : 1;
    const start = this.at;
    this.take(count * rowBytes(one), `values of '${one.name}'`);
    return readValues(one, this.seen, start, count * one.width, scale);
  }

  finish(): void {
    if (this.at !== this.content.length) {
      throw malformed(`a message must end after ${this.at} bytes, but has ${this.content.length}.`);
    }
  }
}

function readValues(one: TableSpec, seen: DataView, start: number, length: number, scale: number): Values {
  const values = emptyValues(one.dtype, length);
  switch (one.dtype) {
    case "int8":
      for (let n = 0; n < length; n++) values[n] = seen.getInt8(start + n) * scale;
      return values;
    case "float16": {
      const single = float16Table();
      for (let n = 0; n < length; n++) values[n] = single[seen.getUint16(start + 2 * n, true)]!;
      return values;
    }
    case "float32":
      for (let n = 0; n < length; n++) values[n] = seen.getFloat32(start + 4 * n, true);
      return values;
    case "float64":
      for (let n = 0; n < length; n++) values[n] = seen.getFloat64(start + 8 * n, true);
      return values;
    case "uint32":
      for (let n = 0; n < length; n++) values[n] = seen.getUint32(start + 4 * n, true);
      return values;
    case "uint64":
      throw malformed(`'${one.name}' must travel in shares, which have no tables.`);
  }
}

function spread(one: TableSpec, values: Values, listed: readonly number[]): Values {
  const whole = emptyValues(one.dtype, one.rows * one.width);
  listed.forEach((item, place) => {
    whole.set(values.subarray(place * one.width, (place + 1) * one.width), item * one.width);
  });
  return whole;
}

async function header(declared: MessageSpec, magic: string): Promise<Bytes> {
  const start = Uint8Array.of(magic.charCodeAt(0), magic.charCodeAt(1), VERSION, declared.tables.length);
  return concat(start, u32(await mark(declared)));
}

/** Numbers as they travel. */
export function packed(values: Values): Bytes {
  const each = values.BYTES_PER_ELEMENT;
  const bytes = new Uint8Array(each * values.length);
  const seen = view(bytes);
  for (let n = 0; n < values.length; n++) {
    if (values instanceof Uint32Array) seen.setUint32(each * n, values[n]!, true);
    else if (values instanceof Float32Array) seen.setFloat32(each * n, values[n]!, true);
    else seen.setFloat64(each * n, values[n]!, true);
  }
  return bytes;
}

function doubles(values: readonly number[]): Bytes {
  return packed(Float64Array.from(values));
}
