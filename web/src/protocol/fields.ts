/** Types of the fields of docs/wire.md: each check says what is wrong with a value, or null. */

import type { Doubles, Json } from "./canonical.ts";

export type Check = (value: Json | undefined, path: string, doubles: Doubles) => string | null;

const said = (path: string) => `${path.slice(1) || "it"} has the wrong type`;
const plain =
  (fits: (value: Json | undefined) => boolean): Check =>
  (value, path) =>
    fits(value) ? null : said(path);

export const string: Check = plain((value) => typeof value === "string");
export const boolean: Check = plain((value) => typeof value === "boolean");
export const settings: Check = plain(isObject);

/** A text of this shape. */
export function matching(shape: RegExp): Check {
  return plain((value) => typeof value === "string" && shape.test(value));
}

/** A whole number from `least` to below `end`, spelled without a point. */
export function whole(least: number, end: number): Check {
  return (value, path, doubles) => {
    const fits = typeof value === "number" && Number.isInteger(value) && value >= least && value < end;
    return fits && !doubles.has(path) ? null : said(path);
  };
}

export function number(fits: (value: number) => boolean): Check {
  return plain((value) => typeof value === "number" && fits(value));
}

export function oneOf(...names: readonly string[]): Check {
  return plain((value) => typeof value === "string" && names.includes(value));
}

export function nullOr(check: Check): Check {
  return (value, path, doubles) => (value === null ? null : check(value, path, doubles));
}

export function list(check: Check, most: number): Check {
  return (value, path, doubles) => {
    if (!Array.isArray(value) || value.length > most) return said(path);
    return first(value.map((one) => check(one, `${path}[]`, doubles)));
  };
}

/** An object under any names. */
export function mapping(check: Check): Check {
  return (value, path, doubles) => {
    if (!isObject(value)) return said(path);
    return first(Object.keys(value).map((name) => check(value[name], `${path}.${name}`, doubles)));
  };
}

/** An object with exactly these fields. */
export function record(fields: Record<string, Check>): Check {
  return recordWithout("", fields);
}

/** An object with exactly these fields, of which one may be left out. */
export function recordWithout(unspelled: string, fields: Record<string, Check>): Check {
  return (value, path, doubles) => {
    if (!isObject(value)) return said(path);
    const there = Object.entries(fields).filter(([name]) => name in value || name !== unspelled);
    const names = there.map(([name]) => name).sort();
    if (Object.keys(value).sort().join(" ") !== names.join(" ")) return `${path.slice(1) || "it"} has other fields`;
    return first(there.map(([name, check]) => check(value[name], `${path}.${name}`, doubles)));
  };
}

function first(found: readonly (string | null)[]): string | null {
  return found.find((one) => one !== null) ?? null;
}

function isObject(value: Json | undefined): value is { [name: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
