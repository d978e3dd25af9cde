// Unsaved text in the browser's IndexedDB, so that it survives a reload, a crash or a lost connection.
export interface Draft {
  text: string;
  // The version on disk that the text is based on.
  etag: string | null;
}

export interface Drafts {
  get(path: string): Promise<Draft | null>;
  put(path: string, draft: Draft): Promise<void>;
  remove(path: string): Promise<void>;
}

// For a viewer, who has no text of their own.
export const noDrafts: Drafts = { get: async () => null, put: async () => {}, remove: async () => {} };

const STORE = "drafts";

export function openDrafts(sandboxId: string): Drafts {
  let database: Promise<IDBDatabase> | null = null;
  const key = (path: string) => `${sandboxId}/${path}`;

  // Fails open: without IndexedDB (private mode, or blocked in a frame) there are no drafts.
  async function run<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => IDBRequest<T>): Promise<T | null> {
    try {
      const transaction = (await (database ??= openDatabase())).transaction(STORE, mode);
      const request = work(transaction.objectStore(STORE));
      // A page that is being closed gets no more events, so a transaction that waits for them would be aborted.
      transaction.commit();
      return await new Promise<T>((resolve, reject) => {
        request.addEventListener("success", () => resolve(request.result));
        request.addEventListener("error", () => reject(request.error ?? new Error("IndexedDB request failed")));
      });
    } catch {
      return null;
    }
  }

  return {
    get: async (path) =>
      (await run<Draft | undefined>("readonly", (store) => store.get(key(path)) as IDBRequest<Draft | undefined>)) ?? null,
    put: async (path, draft) => void (await run("readwrite", (store) => store.put(draft, key(path)))),
    remove: async (path) => void (await run("readwrite", (store) => store.delete(key(path)))),
  };
}

function openDatabase(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open("berth-workspace", 1);
    request.addEventListener("upgradeneeded", () => request.result.createObjectStore(STORE));
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error ?? new Error("IndexedDB could not be opened")));
  });
}
