import { FileNotFoundError } from "../http/errors.ts";
import type { Transport } from "../http/transport.ts";
import type { Bytes, FileEntry, WrittenFile } from "../types/sandbox-types.ts";

// The files of a session: `files` has those of the workspace, with paths relative to it; `home` has those of the whole sandbox, with paths
// that are absolute or relative to the home folder.
export interface Files {
  read(path: string): Promise<Bytes>;
  readText(path: string): Promise<string>;
  // Streams a file that is too large for memory.
  readStream(path: string): Promise<ReadableStream<Uint8Array>>;
  // Streams a folder as a zip, by default the workspace or the home folder.
  archive(path?: string): Promise<ReadableStream<Uint8Array>>;
  // Writes atomically and creates parent folders. Throws FileConflictError if the file does not match the etag in `ifMatch`,
  // or if it exists and `create` is set.
  write(path: string, content: string | Uint8Array, options?: { ifMatch?: string; create?: boolean }): Promise<WrittenFile>;
  list(path?: string): Promise<FileEntry[]>;
  exists(path: string): Promise<boolean>;
  makeFolder(path: string): Promise<void>;
  move(from: string, to: string, options?: { overwrite?: boolean }): Promise<void>;
  // Deletes a file, or a folder with its contents.
  remove(path: string): Promise<void>;
}

export function createFiles(send: Transport, sandboxUrl: () => string, base?: "home"): Files {
  const at = (route: string, path?: string) => ({ url: `${sandboxUrl()}/files${route}`, query: { path, base } });
  const content = (path: string) => at("/content", path);

  const files: Files = {
    read: async (path) => new Uint8Array(await (await send({ method: "GET", ...content(path) })).arrayBuffer()),
    readText: async (path) => (await send({ method: "GET", ...content(path) })).text(),
    readStream: async (path) => bodyOf(await send({ method: "GET", ...content(path), streaming: true })),
    archive: async (path = "") => bodyOf(await send({ method: "GET", ...at("/archive", path), streaming: true })),
    async write(path, body, { ifMatch, create } = {}) {
      const conditions = { ...(ifMatch === undefined ? {} : { "if-match": ifMatch }), ...(create ? { "if-none-match": "*" } : {}) };
      const headers = { "content-type": "application/octet-stream", ...conditions };
      // A retry of a conditional write would conflict with its own first attempt.
      const repeatable = ifMatch === undefined && !create;
      const response = await send({ method: "PUT", ...content(path), body, headers, repeatable });
      return (await response.json()) as WrittenFile;
    },
    async list(path = "") {
      const response = await send({ method: "GET", ...at("", path) });
      return ((await response.json()) as { entries: FileEntry[] }).entries;
    },
    async exists(path) {
      if (/^\/*$/.test(path)) return true;
      try {
        await send({ method: "GET", ...at("/stat", path) });
        return true;
      } catch (error) {
        if (error instanceof FileNotFoundError) return false;
        throw error;
      }
    },
    async makeFolder(path) {
      await send({ method: "POST", ...at("/folder"), json: { path } });
    },
    async move(from, to, { overwrite = false } = {}) {
      await send({ method: "POST", ...at("/move"), json: { from, to, overwrite } });
    },
    async remove(path) {
      await send({ method: "DELETE", ...at("", path) });
    },
  };
  return files;
}

// On some runtimes the response of an empty file has no body.
const bodyOf = (response: Response): ReadableStream<Uint8Array> => response.body ?? new Blob([]).stream();
