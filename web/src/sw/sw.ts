/**
 * The service worker: it keeps the page for when there is no network, and counts every request of the page by
 * itself, before it leaves. It knows nothing of the device: what the device says it sent, and what is counted here,
 * must agree. Only whether its owner has paused it is read before every request that tells of her.
 */

import { addRequest } from "./meter_store.ts";
import { isOperators } from "./operators.ts";
import { isPaused } from "./pause.ts";

declare const self: ServiceWorkerGlobalScope;

const FILES = "__KEPT__" as unknown as Record<string, string>; // path -> SHA-256, filled in when the page is built
const TITLES = "/titles.json";
const CACHE = `murmura-page-${digestOf(FILES)}`;

self.addEventListener("install", (event) => {
  event.waitUntil(keepAll().then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  event.waitUntil(forgetOthers().then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  event.respondWith(answer(event.request, event.clientId));
});

async function answer(request: Request, clientId: string): Promise<Response> {
  const url = new URL(request.url),
    own = url.origin === self.location.origin && request.method === "GET";
  const path = url.pathname === "/index.html" ? "/" : url.pathname;
  if (own && !url.search && (path === "/" || path in FILES)) {
    // a file of the page, the same for everyone; where everything was deleted neither cache nor count is made anew
    return (await caches.match(path, { cacheName: CACHE })) ?? fetch(request);
  }
  const client = clientId ? await self.clients.get(clientId) : undefined;
  if (!isOperators(request, client?.url, self.location.origin)) {
    await count(request);
    if (request.method !== "GET" && (await isPaused())) return Response.error();
  }
  request.signal.throwIfAborted(); // stopped while it was written down
  const reply = await fetch(request).catch(async (error: unknown) => {
    const kept = own && path === TITLES ? await (await caches.open(CACHE)).match(TITLES) : undefined;
    if (kept) return kept;
    throw error;
  });
  if (own && path === TITLES && reply.ok) await (await caches.open(CACHE)).put(TITLES, reply.clone());
  return reply;
}

/** Written down before the first byte leaves. */
async function count(request: Request): Promise<void> {
  const body = request.method === "GET" ? new ArrayBuffer(0) : await request.clone().arrayBuffer();
  const hash = body.byteLength ? hex(await crypto.subtle.digest("SHA-256", body)) : "";
  await addRequest({
    time: new Date().toISOString(),
    method: request.method,
    url: request.url,
    bytes: body.byteLength,
    address: new TextEncoder().encode(request.url).length,
    hash,
    times: 1,
  });
}

/** Every file of this build, and no other: one that differs from what was built is not kept, and nothing changes. */
async function keepAll(): Promise<void> {
  const cache = await caches.open(CACHE);
  await Promise.all(
    Object.entries(FILES).map(async ([path, hash]) => {
      const reply = await fetch(path, { cache: "reload" });
      const found = hex(await crypto.subtle.digest("SHA-256", await reply.clone().arrayBuffer()));
      if (!reply.ok || found !== hash) throw new Error(`${path} must be the file that was built, but is another one`);
      await cache.put(path === "/index.html" ? "/" : path, reply);
    }),
  );
}

async function forgetOthers(): Promise<void> {
  const names = (await caches.keys()).filter((name) => name.startsWith("murmura-page-") && name !== CACHE);
  await Promise.all(names.map((name) => caches.delete(name)));
}

/** A short name for a build. */
function digestOf(kept: Record<string, string>): string {
  return (kept["/assets/app.js"] ?? "").slice(0, 12) + (kept["/index.html"] ?? "").slice(0, 4);
}

function hex(content: ArrayBuffer): string {
  return Array.from(new Uint8Array(content), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
