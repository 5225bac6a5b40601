/** The one seam to the network: a request goes out, a reply comes back. */

import { type Bytes, concat, text } from "../bytes.ts";
import { PROTOCOL } from "../message/arrays.ts";
import { malformed, RefusedError, UnreachableError } from "../refusals.ts";
import { checkAddress } from "./addresses.ts";

export const REPLY_BYTES = 1 << 20; // of a reply that are read where nobody says how long it may be
export const DOWNLOAD_BYTES = 64 << 20; // of what is published, whatever its announced length
const SECONDS = 30;
const SLOWEST = 8192; // of silence, and bytes a second

export interface HttpRequest {
  method: "GET" | "POST" | "DELETE";
  url: string;
  purpose: string; // for the ledger
  body?: Bytes;
  headers?: Record<string, string>;
  largest?: number; // bytes of the answer that are read
  round?: number;
  signal?: AbortSignal; // stops it on its way
}

export interface HttpReply {
  status: number;
  body: Bytes;
  etag: string;
}

/** Sends one request; throws UnreachableError when nobody answers. */
export type Transport = (request: HttpRequest) => Promise<HttpReply>;

/** The reply to a request in this version of the protocol; a refusal is thrown as one. */
export async function ask(send: Transport, request: HttpRequest): Promise<HttpReply> {
  const reply = await send({ ...request, headers: { "murmura-protocol": String(PROTOCOL), ...request.headers } });
  if (reply.status >= 400) throw RefusedError.read(reply.status, reply.body);
  return reply;
}

export function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}

/** The body as a JSON object; refuses anything else. */
export function jsonObject(reply: HttpReply): Record<string, unknown> {
  try {
    const read: unknown = JSON.parse(text(reply.body));
    if (typeof read === "object" && read !== null && !Array.isArray(read)) return read as Record<string, unknown>;
  } catch {
    // said below
  }
  throw malformed("a reply must be a JSON object, but it is something else.");
}

/** Requests by `fetch`: HTTPS, or HTTP on this machine; no redirect, no cookie, nothing compressed. */
export const fetchTransport: Transport = async (request) => {
  const { url, largest = REPLY_BYTES } = request;
  checkAddress(url);
  const limit = SECONDS + ((request.body?.length ?? 0) + largest) / SLOWEST;
  try {
    const reply = await fetch(url, {
      method: request.method,
      body: request.body ?? null,
      headers: request.headers ?? {},
      redirect: "error",
      credentials: "omit",
      cache: "no-store",
      referrerPolicy: "no-referrer",
      signal: AbortSignal.any([
        AbortSignal.timeout(Math.ceil(1000 * limit)),
        ...(request.signal ? [request.signal] : []),
      ]),
    });
    const encoding = reply.headers.get("content-encoding") ?? "identity";
    if (encoding !== "identity") throw malformed(`the reply of ${url} must not be compressed, but is.`);
    const body = await read(reply, url, largest);
    return { status: reply.status, body, etag: reply.headers.get("etag") ?? "" };
  } catch (error) {
    if (error instanceof RefusedError) throw error;
    throw new UnreachableError(`${url} must answer, but does not; check the address and that it runs.`);
  }
};

/** The body, of which no more is read than its asker wants. */
async function read(reply: Response, url: string, largest: number): Promise<Bytes> {
  const parts: Uint8Array[] = [];
  const reader = reply.body?.getReader();
  for (let length = 0; reader;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > largest) {
      await reader.cancel();
      throw oversize(url, largest);
    }
    parts.push(value);
  }
  return concat(...parts);
}

export function oversize(url: string, largest: number): RefusedError {
  return new RefusedError("oversize", `the reply of ${url} must have at most ${largest} bytes, but has more.`);
}
