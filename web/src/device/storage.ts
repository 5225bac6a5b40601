/**
 * Where a device keeps things: values under names, written all or none. In the browser that is IndexedDB; tests
 * keep them in memory. What is kept is cloned, so nobody holds a reference into it.
 */

import { DeviceError } from "./types.ts";

/** undefined deletes. */
export type Changes = Record<string, unknown>;

export interface DeviceStorage {
  read<T>(name: string): Promise<T | undefined>;
  /** The values whose names begin so, by ascending name. */
  list<T>(prefix: string): Promise<T[]>;
  /** When this returns all of it is safe; when it throws none is. */
  write(changes: Changes): Promise<void>;
  /** Write what `work` makes of these values, with nobody writing in between; when it throws nothing changes. */
  change(names: readonly string[], work: (kept: readonly unknown[]) => Changes): Promise<Changes>;
  /** Delete everything. */
  erase(): Promise<void>;
}

export class MemoryStorage implements DeviceStorage {
  private readonly kept = new Map<string, unknown>();

  async read<T>(name: string): Promise<T | undefined> {
    return structuredClone(this.kept.get(name)) as T | undefined;
  }

  async list<T>(prefix: string): Promise<T[]> {
    const names = [...this.kept.keys()].filter((name) => name.startsWith(prefix)).sort();
    return names.map((name) => structuredClone(this.kept.get(name)) as T);
  }

  async write(changes: Changes): Promise<void> {
    const cloned = structuredClone(changes);
    for (const [name, value] of Object.entries(cloned)) {
      if (value === undefined) this.kept.delete(name);
      else this.kept.set(name, value);
    }
  }

  async change(names: readonly string[], work: (kept: readonly unknown[]) => Changes): Promise<Changes> {
    const made = work(names.map((name) => structuredClone(this.kept.get(name))));
    await this.write(made);
    return made;
  }

  async erase(): Promise<void> {
    this.kept.clear();
  }
}

/** The same storage until everything is deleted; whatever is at work then can write nothing anew. */
export class ClosableStorage implements DeviceStorage {
  private closed = false;

  constructor(private readonly inner: DeviceStorage) {}

  read<T>(name: string): Promise<T | undefined> {
    return this.inner.read<T>(name);
  }

  list<T>(prefix: string): Promise<T[]> {
    return this.inner.list<T>(prefix);
  }

  async write(changes: Changes): Promise<void> {
    this.checkOpen();
    await this.inner.write(changes);
  }

  async change(names: readonly string[], work: (kept: readonly unknown[]) => Changes): Promise<Changes> {
    this.checkOpen();
    return this.inner.change(names, work);
  }

  async erase(): Promise<void> {
    this.closed = true;
    await this.inner.erase();
  }

  private checkOpen(): void {
    if (this.closed) throw new DeviceError("everything here was deleted, so nothing more is kept or sent.");
  }
}

export const DATABASE = "murmura",
  STORE = "kept";

export class IndexedDbStorage implements DeviceStorage {
  private constructor(
    private readonly name: string,
    private readonly database: IDBDatabase,
  ) {}

  static async open(name = DATABASE): Promise<IndexedDbStorage> {
    const opening = attempted(() => indexedDB.open(name, 1));
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    const database = await done(opening);
    database.onversionchange = () => database.close(); // another tab deletes everything
    return new IndexedDbStorage(name, database);
  }

  async read<T>(name: string): Promise<T | undefined> {
    return done(this.store("readonly").get(name) as IDBRequest<T | undefined>);
  }

  async list<T>(prefix: string): Promise<T[]> {
    return done(this.store("readonly").getAll(IDBKeyRange.bound(prefix, `${prefix}\uffff`)) as IDBRequest<T[]>);
  }

  async write(changes: Changes): Promise<void> {
    const store = this.store("readwrite");
    const written = finished(store.transaction);
    try {
      put(store, changes);
    } catch {
      store.transaction.abort(); // said below
    }
    await written;
  }

  async change(names: readonly string[], work: (kept: readonly unknown[]) => Changes): Promise<Changes> {
    const store = this.store("readwrite");
    const written = finished(store.transaction);
    let made: { changes: Changes } | { why: unknown } | null = null;
    const reading = names.map((name) => store.get(name));
    reading.at(-1)!.onsuccess = () => {
      try {
        made = { changes: work(reading.map(({ result }) => result as unknown)) };
        put(store, made.changes);
      } catch (why) {
        made = { why };
        store.transaction.abort();
      }
    };
    return written.then(
      () => (made as unknown as { changes: Changes }).changes,
      (error: unknown) => {
        throw made && "why" in made ? (made as { why: unknown }).why : error;
      },
    );
  }

  async erase(): Promise<void> {
    this.database.close();
    const deleting = indexedDB.deleteDatabase(this.name);
    const deleted = done(deleting);
    deleting.onblocked = null; // what is being written ends first, and other tabs let go
    await deleted;
  }

  private store(mode: IDBTransactionMode): IDBObjectStore {
    return attempted(() => this.database.transaction(STORE, mode, { durability: "strict" }).objectStore(STORE));
  }
}

function put(store: IDBObjectStore, changes: Changes): void {
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) store.delete(name);
    else store.put(value, name);
  }
}

function attempted<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw refused(error);
  }
}

function done<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(refused(request.error));
    if (request instanceof IDBOpenDBRequest) request.onblocked = () => reject(refused(new Error("another tab has it")));
  });
}

function finished(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = transaction.onerror = () => reject(refused(transaction.error));
  });
}

function refused(error: unknown): DeviceError {
  const why = error instanceof Error ? error.message : "it refuses";
  return new DeviceError(
    `this browser must be able to keep what you decide, but cannot (${why}); nothing was sent: free space, close other tabs ` +
      "of this page or leave private browsing.",
  );
}
