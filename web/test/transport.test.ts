import { createServer, type RequestListener, type Server } from "node:http";
import { gzipSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import { utf8 } from "../src/bytes.ts";
import { checkAddress } from "../src/protocol/addresses.ts";
import { ask, fetchTransport, jsonObject } from "../src/protocol/transport.ts";

let server: Server | null = null;
afterEach(() => void server?.close());

/** A real server on this machine that answers like this. */
function answering(listener: RequestListener): Promise<string> {
  server = createServer(listener);
  return new Promise((resolve) => {
    server!.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${(server!.address() as { port: number }).port}`));
  });
}

const get = (url: string, largest?: number) =>
  ask(fetchTransport, { method: "GET", url, purpose: "test", ...(largest === undefined ? {} : { largest }) });

test("a body goes out and comes back, in this version of the protocol", async () => {
  const url = await answering((request, reply) => {
    const parts: Buffer[] = [];
    request
      .on("data", (part: Buffer) => parts.push(part))
      .on("end", () => {
        reply.setHeader("etag", '"x"').end(`${request.headers["murmura-protocol"]} ${Buffer.concat(parts)}`);
      });
  });
  const reply = await ask(fetchTransport, { method: "POST", url, purpose: "test", body: utf8("hello") });
  expect([new TextDecoder().decode(reply.body), reply.etag]).toEqual(["3 hello", '"x"']);
});

test("no more is read than was wanted, whatever length is announced", async () => {
  const url = await answering((_, reply) => void reply.end("x".repeat(1001)));
  expect((await get(url, 1001)).body.length).toBe(1001);
  await expect(get(url, 1000)).rejects.toMatchObject({ code: "oversize" });
});

test("a compressed answer and a redirect are refused", async () => {
  let url = await answering((_, reply) => void reply.setHeader("content-encoding", "gzip").end(gzipSync("x")));
  await expect(get(url)).rejects.toThrow(/must not be compressed/);
  server!.close();
  url = await answering((_, reply) => void reply.writeHead(302, { location: "http://127.0.0.1:1/" }).end());
  await expect(get(url)).rejects.toThrow(/must answer, but does not/);
});

test("refusals are typed, and their sentences cannot move a cursor", async () => {
  let url = await answering((_, reply) => {
    reply.writeHead(409).end(JSON.stringify({ error: "replay", message: "no\u001b[2J\u202Eway" }));
  });
  await expect(get(url)).rejects.toMatchObject({ code: "replay", message: "no\uFFFD[2J\uFFFDway" });
  server!.close();
  url = await answering((_, reply) => void reply.writeHead(500).end("<html>"));
  await expect(get(url)).rejects.toMatchObject({ code: "malformed" });
  expect(() => jsonObject({ status: 200, body: utf8("[1]"), etag: "" })).toThrow(/must be a JSON object/);
});

test("nobody there is said in one sentence, and plain HTTP goes to this machine alone", async () => {
  await expect(get("http://127.0.0.1:1")).rejects.toThrow(/must answer, but does not/);
  for (const url of [
    "http://fed.example",
    "http://192.0.2.7:80",
    "ftp://127.0.0.1",
    "http://127.0.0.1.evil.example",
    "x",
  ]) {
    expect(() => checkAddress(url)).toThrow(/must be/);
  }
  for (const url of ["https://fed.example", "http://localhost:1", "http://[::1]:2", "http://127.9.9.9"])
    checkAddress(url);
});
