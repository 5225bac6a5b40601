/** What the service worker has counted: in a database of its own, which the page reads and never writes. */

export interface CountedRequest {
  time: string;
  method: string;
  url: string;
  bytes: number; // of the body
  address: number; // bytes of the URL, which leave too
  hash: string; // SHA-256 of the body, "" for none
  times: number; // how often the same request without a body was made
}

export const METER = "murmura-meter";
const STORE = "requests";

/** Requests with a body have a line each; others one by address. */
export async function addRequest(one: CountedRequest): Promise<void> {
  const database = await open();
  try {
    const transaction = database.transaction(STORE, "readwrite"),
      store = transaction.objectStore(STORE);
    if (one.bytes) {
      store.put(one, `${one.time} ${crypto.randomUUID()}`);
    } else {
      const name = `${one.method} ${one.url}`,
        known = (await done(store.get(name))) as CountedRequest | undefined;
      store.put({ ...one, times: (known?.times ?? 0) + 1 }, name);
    }
    await new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = transaction.onerror = () => reject(transaction.error ?? new Error("not written"));
    });
  } finally {
    database.close();
  }
}

export async function countedRequests(): Promise<CountedRequest[]> {
  const database = await open();
  try {
    const found = (await done(database.transaction(STORE).objectStore(STORE).getAll())) as CountedRequest[];
    return found.sort((one, other) => one.time.localeCompare(other.time));
  } finally {
    database.close();
  }
}

function open(): Promise<IDBDatabase> {
  const opening = indexedDB.open(METER, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
  return done(opening);
}

export function done<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("not read"));
  });
}
