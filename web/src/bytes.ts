/** Bytes as they travel: little-endian numbers, hexadecimal and base64url text. */

export type Bytes = Uint8Array<ArrayBuffer>;

const UTF8 = new TextEncoder();

export function utf8(text: string): Bytes {
  return UTF8.encode(text) as Bytes;
}

export function text(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
}

export function concat(...parts: readonly Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export function equal(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, place) => byte === other[place]);
}

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Lower-case hexadecimal alone; anything else is an error of the caller. */
export function fromHex(digits: string): Bytes {
  if (!/^([0-9a-f]{2})*$/.test(digits)) throw new TypeError("not hexadecimal");
  const bytes = new Uint8Array(digits.length / 2);
  for (let place = 0; place < bytes.length; place++) {
    bytes[place] = parseInt(digits.slice(2 * place, 2 * place + 2), 16);
  }
  return bytes;
}

export function toBase64Url(bytes: Uint8Array): string {
  const plain = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return plain.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Null where the text is no base64url. */
export function fromBase64Url(digits: string): Bytes | null {
  if (!/^[\w-]*$/.test(digits) || digits.length % 4 === 1) return null;
  const plain = atob(digits.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (sign) => sign.charCodeAt(0));
}

export function u32(value: number): Bytes {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value, true);
  return bytes;
}

export function u64(value: number): Bytes {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value), true);
  return bytes;
}

export function view(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
