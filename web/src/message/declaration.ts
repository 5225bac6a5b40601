/** What a message may hold, declared before it is sent and checked on both sides (docs/wire.md). */

import { type Bytes, utf8 } from "../bytes.ts";
import { sha256Hex } from "../crypto/hashing.ts";
import { DeviceError } from "../device/types.ts";
import { spelledDouble } from "../doubles.ts";
import { crc32 } from "./crc32.ts";

export type Space = "item" | "feature" | "dense";
export type NumberType = "int8" | "float16" | "float32" | "float64" | "uint32" | "uint64";
export type Values = Float32Array | Float64Array | Uint32Array;

/** The largest whole number in each row of an exact table: one for all rows, or one for each. */
export interface RowBounds {
  most: number | Uint32Array;
  of: "device" | "sum";
}

export interface TableSpec {
  name: string;
  space: Space;
  rows: number;
  width: number;
  dtype: NumberType;
  bound: number | null;
  exact: RowBounds | null;
}

export interface MessageSpec {
  tables: readonly TableSpec[];
  scalars: readonly string[];
}

/** Rows of a table under ascending numbers; values stand row after row. */
export interface SparseRows {
  index: Int32Array;
  values: Values;
}

export interface Update {
  tables: Record<string, SparseRows>;
  scalars: Record<string, number>;
  own?: Int32Array; // where a phase proves a claim: her items, which leave as shares alone
}

const BYTES: Record<NumberType, number> = { int8: 1, float16: 2, float32: 4, float64: 8, uint32: 4, uint64: 8 };

export function table(
  name: string,
  space: Space,
  rows: number,
  width: number,
  dtype: NumberType = "float32",
  more: { bound?: number; exact?: RowBounds } = {},
): TableSpec {
  return { name, space, rows, width, dtype, bound: more.bound ?? null, exact: more.exact ?? null };
}

export function message(tables: readonly TableSpec[], scalars: readonly string[] = []): MessageSpec {
  return { tables, scalars };
}

export function rowBytes(one: TableSpec): number {
  return one.width * BYTES[one.dtype];
}

/** The declaration as text, of which the mark is taken. */
export async function spelled(spec: MessageSpec): Promise<string> {
  const tables = await Promise.all(spec.tables.map(spelledTable));
  return `(${tuple(tables)}, ${tuple(spec.scalars.map((name) => `'${name}'`))})`;
}

/** 32 bits that differ between different declarations; every message carries them. */
export async function mark(spec: MessageSpec): Promise<number> {
  return crc32(utf8(await spelled(spec)));
}

/** The exact length of a public model with so many items on offer. */
export function modelBytes(spec: MessageSpec, listed: number): number {
  const tables = spec.tables.map(
    (one) => 4 + Number(one.dtype === "int8") + (one.space === "item" ? listed : one.rows) * rowBytes(one),
  );
  return tables.reduce((sum, length) => sum + length, 8);
}

/** The same tables with shorter numbers, as a download may have them. */
export function narrowed(spec: MessageSpec, download: "exact" | "float16" | "int8"): MessageSpec {
  if (download === "exact") return spec;
  const kind = (one: TableSpec): NumberType => (one.space === "dense" ? "float16" : download);
  const tables = spec.tables.map((one) => (one.dtype === "uint32" ? one : { ...one, dtype: kind(one) }));
  return { ...spec, tables };
}

export function emptyValues(dtype: NumberType, length: number): Values {
  if (dtype === "uint32") return new Uint32Array(length);
  return dtype === "float64" ? new Float64Array(length) : new Float32Array(length);
}

/** The bound of a row of an exact table. */
export function boundOf(exact: RowBounds, row: number): number {
  return typeof exact.most === "number" ? exact.most : exact.most[row]!;
}

/** Refuse an update that holds anything else than what is declared. */
export function checkUpdate(spec: MessageSpec, update: Update): void {
  const names = (list: readonly string[]) => [...list].sort().join(", ");
  const tables = spec.tables.map((one) => one.name);
  if (
    names(Object.keys(update.tables)) !== names(tables) ||
    names(Object.keys(update.scalars)) !== names(spec.scalars)
  ) {
    throw new DeviceError(`an update must hold the tables ${names(tables)}, but holds others.`);
  }
  for (const one of spec.tables) checkRows(one, update.tables[one.name]!);
  if (!Object.values(update.scalars).every(Number.isFinite)) {
    throw new DeviceError("the scalars of an update must be finite, but one is not.");
  }
}

function checkRows(one: TableSpec, { index, values }: SparseRows): void {
  if (values.length !== index.length * one.width || values.constructor !== emptyValues(one.dtype, 0).constructor) {
    throw new DeviceError(`the table '${one.name}' must hold ${one.dtype} rows of ${one.width}, but holds others.`);
  }
  if (one.space === "dense" && index.length !== 0 && index.length !== one.rows) {
    throw new DeviceError(`the dense table '${one.name}' must hold all of its rows or none, but holds some.`);
  }
  if (index.some((row, place) => row >= one.rows || row <= (place ? index[place - 1]! : -1))) {
    throw new DeviceError(`the row numbers of '${one.name}' must ascend and stay below ${one.rows}, but do not.`);
  }
  if (!values.every(Number.isFinite)) {
    throw new DeviceError(`the values of '${one.name}' must be finite, but one is not.`);
  }
  const { exact } = one;
  const beyond = exact
    ? values.some((value, place) => value > boundOf(exact, index[Math.floor(place / one.width)]!))
    : one.bound !== null && values.some((value) => Math.abs(value) > one.bound!);
  if (beyond) throw new DeviceError(`the values of '${one.name}' must keep their bounds, but one does not.`);
}

async function spelledTable(one: TableSpec): Promise<string> {
  const bound = one.bound === null ? "None" : spelledDouble(one.bound);
  const exact = one.exact ? `, exact=${await spelledBounds(one.exact)}` : "";
  return (
    `Table(name='${one.name}', space='${one.space}', rows=${one.rows}, width=${one.width}, ` +
    `dtype='${one.dtype}', bound=${bound}${exact})`
  );
}

async function spelledBounds({ most, of }: RowBounds): Promise<string> {
  const name = typeof most === "number" ? String(most) : `sha256:${await sha256Hex(words(most))}`;
  return `Rows(most=${name}, of='${of}')`;
}

/** 32-bit words as little-endian bytes, whatever this machine's order is. */
export function words(values: Uint32Array): Bytes {
  const bytes = new Uint8Array(4 * values.length);
  const seen = new DataView(bytes.buffer);
  for (let place = 0; place < values.length; place++) seen.setUint32(4 * place, values[place]!, true);
  return bytes;
}

function tuple(parts: readonly string[]): string {
  return `(${parts.join(", ")}${parts.length === 1 ? "," : ""})`;
}
