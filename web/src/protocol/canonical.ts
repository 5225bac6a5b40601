/** JSON in one spelling: what is signed and named by its hash has exactly one form, and no other is read. */

import { text } from "../bytes.ts";
import { checkVersion } from "../message/arrays.ts";
import { malformed, RefusedError } from "../refusals.ts";
import { spelledDouble } from "../doubles.ts";
import type { Check } from "./fields.ts";

const DEEPEST = 8; // objects and lists in each other
const NUMBER = /-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const WORDS: [string, unknown][] = [
  ["true", true],
  ["false", false],
  ["null", null],
];

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** A number that was spelled with a point or an exponent, by where it stands: "1.0" is no count. */
export type Doubles = ReadonlySet<string>;

class Parser {
  private at = 0;
  readonly doubles = new Set<string>();

  constructor(private readonly source: string) {}

  whole(): Json {
    const value = this.value("", 0);
    if (this.at !== this.source.length) throw new SyntaxError();
    return value;
  }

  private value(path: string, depth: number): Json {
    if (depth > DEEPEST) throw new SyntaxError();
    const sign = this.source[this.at];
    if (sign === "{") return this.object(path, depth + 1);
    if (sign === "[") return this.list(path, depth + 1);
    if (sign === '"') return this.string();
    for (const [word, value] of WORDS) {
      if (this.source.startsWith(word, this.at)) {
        this.at += word.length;
        return value as Json;
      }
    }
    return this.number(path);
  }

  private object(path: string, depth: number): Json {
    const read: { [name: string]: Json } = Object.create(null);
    let before: string | null = null;
    this.members("{", "}", () => {
      const name = this.string();
      if (before !== null && !ascends(before, name)) throw new SyntaxError();
      before = name;
      this.expect(":");
      read[name] = this.value(`${path}.${name}`, depth);
    });
    return read;
  }

  private list(path: string, depth: number): Json {
    const read: Json[] = [];
    this.members("[", "]", () => read.push(this.value(`${path}[]`, depth)));
    return read;
  }

  private members(open: string, close: string, one: () => void): void {
    this.expect(open);
    if (this.source[this.at] === close) {
      this.at++;
      return;
    }
    do one();
    while (this.source[this.at] === "," && ++this.at);
    this.expect(close);
  }

  private string(): string {
    const raw = this.token(STRING);
    const read = JSON.parse(raw) as string;
    if (spelledString(read) !== raw) throw new SyntaxError();
    return read;
  }

  private number(path: string): number {
    const raw = this.token(NUMBER);
    const read = Number(raw);
    const whole = /^-?\d+$/.test(raw);
    if (whole ? raw === "-0" : spelledDouble(read) !== raw) throw new SyntaxError();
    if (!whole) this.doubles.add(path);
    return read;
  }

  private token(shape: RegExp): string {
    shape.lastIndex = this.at;
    const found = shape.exec(this.source)?.[0];
    if (!found) throw new SyntaxError();
    this.at += found.length;
    return found;
  }

  private expect(sign: string): void {
    if (this.source[this.at++] !== sign) throw new SyntaxError();
  }
}

/** A value in canonical bytes; refuses another version, other fields, other types and other spellings. */
export function readCanonical<T>(content: Uint8Array, shape: Check, what: string): T {
  let value: Json;
  const parser = (() => {
    try {
      return new Parser(text(content));
    } catch {
      throw malformed(`${what} must be a JSON object, but is something else.`);
    }
  })();
  try {
    value = parser.whole();
  } catch {
    throw malformed(`${what} must be JSON in canonical form, but is not.`);
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw malformed(`${what} must be a JSON object, but is something else.`);
  }
  checkVersion(value.protocol);
  const wrong = shape(value, "", parser.doubles);
  if (wrong !== null) throw new RefusedError("malformed", `${what} must be what docs/wire.md says, but ${wrong}.`);
  return value as T;
}

function ascends(one: string, other: string): boolean {
  const a = Array.from(one);
  const b = Array.from(other);
  for (let n = 0; n < Math.min(a.length, b.length); n++) {
    const difference = a[n]!.codePointAt(0)! - b[n]!.codePointAt(0)!;
    if (difference) return difference < 0;
  }
  return a.length < b.length;
}

export function spelledString(value: string): string {
  return JSON.stringify(value).replace(
    /[\u0080-\uffff]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
