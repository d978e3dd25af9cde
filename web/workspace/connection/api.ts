import type {
  CopyRequest,
  CreateTerminal,
  MoveRequest,
  NamedEntry,
  NameListing,
  SearchEvent,
  Terminal,
  TrashedFiles,
  WrittenFile,
} from "@berth/contract/daemon.ts";
import type { PreviewLink, PreviewRequest, UserSettings, WorkspaceSession } from "@berth/contract/workspace/workspace.ts";
import { readLines } from "./read-lines.ts";

// A response that is not a success, or status 0 if there was no response.
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
  }
}

export interface FileContent {
  etag: string;
  size: number;
  bytes: Uint8Array<ArrayBuffer> | null;
}

export type Api = ReturnType<typeof createApi>;

export interface ApiOptions {
  send?: typeof fetch;
  // The cookie is missing or no longer valid.
  onSignedOut?: () => void;
}

// The daemon's API and the server's own routes under `/workspace/{sandboxId}/`.
export function createApi(base: string, { send = (...args) => fetch(...args), onSignedOut }: ApiOptions = {}) {
  const query = (values: Record<string, string | number | boolean | undefined>) => {
    const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== "" && value !== false);
    return new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  };

  async function call(path: string, init: RequestInit = {}): Promise<Response> {
    const response = await send(base + path, { credentials: "same-origin", ...init }).catch((error: unknown) => {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      throw new ApiError(0, "offline", "The workspace cannot be reached. Check your connection");
    });
    if (response.ok) return response;
    const body = (await response.json().catch(() => ({}))) as { error?: string; code?: string };
    const code = body.code ?? response.headers.get("x-error-code") ?? "unknown";
    if (code === "unauthorized") onSignedOut?.();
    throw new ApiError(response.status, code, body.error ?? `The workspace returned an unexpected response (${response.status})`);
  }

  const json = async <T>(path: string, method = "GET", body?: unknown): Promise<T> => {
    const init = body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
    const response = await call(path, { method, ...init });
    return (response.status === 204 ? undefined : await response.json().catch(() => undefined)) as T;
  };

  const filePath = (path: string) => `api/files/content?${query({ path })}`;
  const originalPath = (path: string) => `api/changes/original?${query({ path })}`;

  return {
    json,
    call,
    urlOf: (path: string) => base + path,
    filePath,
    fileUrl: (path: string) => base + filePath(path),
    imageUrl: (id: string) => `${base}api/agent/images/${id}`,
    originalPath,
    originalUrl: (path: string) => base + originalPath(path),
    archivePath: (path: string) => `api/files/archive?path=${encodeURIComponent(path)}`,
    socketUrl: (path: string) => new URL(`${base}api/${path}`, location.href).href.replace(/^http/, "ws"),

    async listFolder(path: string): Promise<{ entries: NamedEntry[]; truncated: boolean }> {
      const { entries, truncated } = await json<NameListing>(`api/files?details=names&path=${encodeURIComponent(path)}`);
      return { entries: entries.map((entry) => (typeof entry === "string" ? { name: entry, type: "file" } : entry)), truncated };
    },
    listIgnored: (path: string) => json<{ names: string[] }>(`api/files/ignored?path=${encodeURIComponent(path)}`),
    remove: (path: string) => json<void>(`api/files?${query({ path })}`, "DELETE"),
    makeFolder: (path: string) => json<void>("api/files/folder", "POST", { path }),
    move: (request: MoveRequest) => json<void>("api/files/move", "POST", request),
    trash: (paths: readonly string[]) => json<TrashedFiles>("api/files/trash", "POST", { paths }),
    restore: (id: string) => json<TrashedFiles>("api/files/restore", "POST", { id }),
    copy: (request: CopyRequest) => json<void>("api/files/copy", "POST", request),
    findFiles: (q: string, limit = 50) =>
      json<{ paths: string[]; truncated: boolean }>(`api/files/find?q=${encodeURIComponent(q)}&limit=${limit}`),

    // `bytes` is null if the file is larger than the limit.
    async readFile(path: string, limitBytes: number): Promise<FileContent> {
      const response = await call(filePath(path), { cache: "no-store" });
      const etag = response.headers.get("etag") ?? "";
      const size = Number(response.headers.get("content-length") ?? 0);
      if (size > limitBytes) {
        await response.body?.cancel();
        return { etag, size, bytes: null };
      }
      const bytes = new Uint8Array(await response.arrayBuffer());
      return { etag, size: bytes.byteLength, bytes };
    },
    async readRange(path: string, start: number, length: number, signal: AbortSignal): Promise<Uint8Array> {
      const headers = { range: `bytes=${start}-${start + length - 1}` };
      const response = await call(filePath(path), { cache: "no-store", headers, signal });
      return new Uint8Array(await response.arrayBuffer());
    },
    // `match` is the version that must still be on disk. With null the file must not exist; with undefined any version is replaced.
    writeFile: async (path: string, body: BodyInit, match?: string | null): Promise<WrittenFile> => {
      const headers = new Headers({ "content-type": "application/octet-stream" });
      if (match === null) headers.set("if-none-match", "*");
      else if (match !== undefined) headers.set("if-match", match);
      const response = await call(filePath(path), { method: "PUT", body, headers });
      return (await response.json()) as WrittenFile;
    },

    async *search(options: SearchQuery, signal: AbortSignal): AsyncGenerator<SearchEvent> {
      const { text, matchCase, ...rest } = options;
      const response = await call(`api/search?${query({ q: text, case: matchCase, ...rest })}`, { signal });
      if (response.body) for await (const line of readLines(response.body)) yield JSON.parse(line) as SearchEvent;
    },

    resume: () => json<WorkspaceSession>("resume", "POST"),
    extend: () => json<WorkspaceSession>("extend", "POST"),
    retrySource: () => json<void>("source/retry", "POST"),
    reportActivity: () => json<void>("activity", "POST"),
    readSettings: () => json<UserSettings>("settings"),
    // Null if the settings have changed since the given version was read.
    writeSettings: async (settings: UserSettings): Promise<number | null> => {
      try {
        return (await json<{ version: number }>("settings", "PUT", settings)).version;
      } catch (error) {
        if (error instanceof ApiError && error.status === 412) return null;
        throw error;
      }
    },
    previewLink: (request: PreviewRequest) => json<PreviewLink>("preview", "POST", request),
    createTerminal: (request: CreateTerminal) => json<Terminal>("api/terminals", "POST", request),
    removeTerminal: (id: string) => json<void>(`api/terminals/${id}`, "DELETE"),
  };
}

export interface SearchQuery {
  text: string;
  regex?: boolean;
  matchCase?: boolean;
  word?: boolean;
  include?: string;
  exclude?: string;
  // Searches only this file.
  file?: string;
  limit?: number;
  // The most matches of each file.
  fileLimit?: number;
}
