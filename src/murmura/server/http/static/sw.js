// src/sw/meter_store.ts
var METER = "murmura-meter";
var STORE$1 = "requests";
/** Requests with a body have a line each; others one by address. */
async function addRequest(one) {
	const database = await open();
	try {
		const transaction = database.transaction(STORE$1, "readwrite"), store = transaction.objectStore(STORE$1);
		if (one.bytes) store.put(one, `${one.time} ${crypto.randomUUID()}`);
		else {
			const name = `${one.method} ${one.url}`, known = await done(store.get(name));
			store.put({
				...one,
				times: (known?.times ?? 0) + 1
			}, name);
		}
		await new Promise((resolve, reject) => {
			transaction.oncomplete = () => resolve();
			transaction.onabort = transaction.onerror = () => reject(transaction.error ?? /* @__PURE__ */ new Error("not written"));
		});
	} finally {
		database.close();
	}
}
function open() {
	const opening = indexedDB.open(METER, 1);
	opening.onupgradeneeded = () => opening.result.createObjectStore(STORE$1);
	return done(opening);
}
function done(request) {
	return new Promise((resolve, reject) => {
		request.onsuccess = () => resolve(request.result);
		request.onerror = () => reject(request.error ?? /* @__PURE__ */ new Error("not read"));
	});
}
// src/sw/operators.ts
/** The operator's page is none of the visitor's: what it asks for, with the operator's own token, is not counted. */
var PATH = "/operator";
/** Whether a request opens that page, or is made by it; `client` is the address a tab was opened with. */
function isOperators(request, client, here) {
	if (request.mode === "navigate") return request.url === here + PATH;
	if (client === void 0) return false;
	const { origin, pathname } = new URL(client);
	return origin === here && pathname === PATH;
}
// src/device/storage.ts
var DATABASE = "murmura";
// src/sw/pause.ts
/** Whether the owner has paused her device, as its database says now; nothing of it is kept here. */
async function isPaused() {
	const database = await opened();
	if (!database) return false;
	try {
		return (await done(database.transaction("kept").objectStore("kept").get("permission")))?.paused ?? false;
	} finally {
		database.close();
	}
}
/** null where nothing was ever kept, or everything was deleted; it is not made anew. */
async function opened() {
	const opening = indexedDB.open(DATABASE);
	let absent = false;
	opening.onupgradeneeded = () => {
		absent = true;
		opening.transaction.abort();
	};
	return done(opening).catch((error) => {
		if (absent) return null;
		throw error;
	});
}
// src/sw/sw.ts
/**
* The service worker: it keeps the page for when there is no network, and counts every request of the page by
* itself, before it leaves. It knows nothing of the device: what the device says it sent, and what is counted here,
* must agree. Only whether its owner has paused it is read before every request that tells of her.
*/
var FILES = {"/assets/__vite-browser-external.js":"7c7c95fdc6bf61f1018b997513e123550c044754fc5e93732b02becc489ce6fd","/assets/app.css":"93b0e1cbc73030d1365362f227c9e684e97f8c6bce4476438ae95e2453a15de3","/assets/app.js":"076804104afda41624084d8fe3d943a9cef806f52d3d7eb1e46f07f667a69313","/assets/training.js":"8ff6180d360651b2f9e967d1bd97bac236bd72e926eb2e99b79362d29e3bf64e","/assets/training_worker.js":"c7135921dc5930bd32b6a20b80abef0fa8eb153610717f9ca0d53e55a36ff69a","/icon.svg":"cb2c98ae6937a43235dd9de63a1942bc17ff4a400338c1f8a798a345ba18d9b4","/index.html":"112ee57e43b286897da1646f7449deb46fea2dec7b82441830be564f21d664c5","/manifest.webmanifest":"0e79868296768a5b91940216242b349de2ff1893b7b94d698d48e5926e426a3a"};
var TITLES = "/titles.json";
var CACHE = `murmura-page-${digestOf(FILES)}`;
self.addEventListener("install", (event) => {
	event.waitUntil(keepAll().then(() => self.skipWaiting()));
});
self.addEventListener("activate", (event) => {
	event.waitUntil(forgetOthers().then(() => self.clients.claim()));
});
self.addEventListener("fetch", (event) => {
	event.respondWith(answer(event.request, event.clientId));
});
async function answer(request, clientId) {
	const url = new URL(request.url), own = url.origin === self.location.origin && request.method === "GET";
	const path = url.pathname === "/index.html" ? "/" : url.pathname;
	if (own && !url.search && (path === "/" || path in FILES)) return await caches.match(path, { cacheName: CACHE }) ?? fetch(request);
	if (!isOperators(request, (clientId ? await self.clients.get(clientId) : void 0)?.url, self.location.origin)) {
		await count(request);
		if (request.method !== "GET" && await isPaused()) return Response.error();
	}
	request.signal.throwIfAborted();
	const reply = await fetch(request).catch(async (error) => {
		const kept = own && path === TITLES ? await (await caches.open(CACHE)).match(TITLES) : void 0;
		if (kept) return kept;
		throw error;
	});
	if (own && path === TITLES && reply.ok) await (await caches.open(CACHE)).put(TITLES, reply.clone());
	return reply;
}
/** Written down before the first byte leaves. */
async function count(request) {
	const body = request.method === "GET" ? /* @__PURE__ */ new ArrayBuffer(0) : await request.clone().arrayBuffer();
	const hash = body.byteLength ? hex(await crypto.subtle.digest("SHA-256", body)) : "";
	await addRequest({
		time: (/* @__PURE__ */ new Date()).toISOString(),
		method: request.method,
		url: request.url,
		bytes: body.byteLength,
		address: new TextEncoder().encode(request.url).length,
		hash,
		times: 1
	});
}
/** Every file of this build, and no other: one that differs from what was built is not kept, and nothing changes. */
async function keepAll() {
	const cache = await caches.open(CACHE);
	await Promise.all(Object.entries(FILES).map(async ([path, hash]) => {
		const reply = await fetch(path, { cache: "reload" });
		const found = hex(await crypto.subtle.digest("SHA-256", await reply.clone().arrayBuffer()));
		if (!reply.ok || found !== hash) throw new Error(`${path} must be the file that was built, but is another one`);
		await cache.put(path === "/index.html" ? "/" : path, reply);
	}));
}
async function forgetOthers() {
	const names = (await caches.keys()).filter((name) => name.startsWith("murmura-page-") && name !== CACHE);
	await Promise.all(names.map((name) => caches.delete(name)));
}
/** A short name for a build. */
function digestOf(kept) {
	return (kept["/assets/app.js"] ?? "").slice(0, 12) + (kept["/index.html"] ?? "").slice(0, 4);
}
function hex(content) {
	return Array.from(new Uint8Array(content), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
