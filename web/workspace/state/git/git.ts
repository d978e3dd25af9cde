import { createStore } from "zustand/vanilla";
import type { CommitRequest, GitBranch, GitCommit, GitEvent, GitFile, GitRepository, GitStatus, SyncRequest } from "@berth/contract/git.ts";
import { ApiError, type Api } from "../../connection/api.ts";
import { readLines } from "../../connection/read-lines.ts";
import { describeError } from "../page/notices.ts";
import { gitMarks, type GitMark } from "./git-marks.ts";

export interface GitState {
  repositories: string[];
  // Null if there is none, or until it is known.
  repository: GitRepository | null;
  // Whether the state was read since the page opened.
  known: boolean;
  // Why the state could not be read.
  error: string | null;
  // How each file and each folder above it has changed.
  marks: ReadonlyMap<string, GitMark>;
  // A commit, push, pull or fetch in progress. `text` is git's progress.
  running: { name: string; text: string } | null;
  // The message of the next commit.
  message: string;
  // Increases whenever the repository was read.
  version: number;
}

const DEBOUNCE_MS = 300;
// While files keep changing, the repository is read once in this time, and a slow one less often.
const INTERVAL_MS = 1000;
const REST_FACTOR = 3;
// Even then, another branch must not go unnoticed for long.
const MAX_REST_MS = 10_000;
const NONE: GitStatus = { repositories: [], repository: null };

// The repository of the workspace. It is read again when files change.
export function createGit(api: Api) {
  const store = createStore<GitState>(() => ({
    ...NONE,
    known: false,
    error: null,
    marks: new Map(),
    running: null,
    message: "",
    version: 0,
  }));
  const set = store.setState;
  let chosen: string | null = null;
  let timer: ReturnType<typeof setTimeout> | null = null;
  let reading = Promise.resolve();
  let queued: Promise<void> | null = null;
  let lastTookMs = 0;
  let lastEndMs = -INTERVAL_MS;
  let stopper: AbortController | null = null;

  // Resolves with a state that is read from now on. If a read is in progress, one more follows it.
  function refresh(): Promise<void> {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    queued ??= reading.then(() => {
      queued = null;
      return (reading = read());
    });
    return queued;
  }

  async function read(): Promise<void> {
    const startedAt = performance.now();
    try {
      const wanted = chosen === null ? "" : `?repository=${encodeURIComponent(chosen)}`;
      const found = await api.json<GitStatus>(`api/git/status${wanted}`);
      set(({ version }) => ({ ...found, known: true, error: null, marks: gitMarks(found.repository?.files ?? []), version: version + 1 }));
    } catch (error) {
      // The chosen repository was removed.
      if (chosen !== null && error instanceof ApiError && error.status === 404) chosen = null;
      set(unavailable(error) ? { ...NONE, known: true, error: null, marks: new Map() } : { known: true, error: describeError(error) });
    }
    lastEndMs = performance.now();
    lastTookMs = lastEndMs - startedAt;
  }

  const post = async (path: string, body: object = {}): Promise<void> => {
    const { repository } = store.getState();
    try {
      await api.json(`api/git/${path}`, "POST", { ...(repository ? { repository: repository.path } : {}), ...body });
    } finally {
      await refresh();
    }
  };

  // Runs what may take long. Its failure is thrown.
  async function run(name: string, path: string, body: object): Promise<void> {
    if (store.getState().running) throw new Error("Git is busy with something else. Wait for it or stop it");
    const { repository } = store.getState();
    stopper = new AbortController();
    set({ running: { name, text: "" } });
    try {
      const init = { method: "POST", signal: stopper.signal, headers: { "content-type": "application/json" } };
      const response = await api.call(`api/git/${path}`, { ...init, body: JSON.stringify({ repository: repository?.path, ...body }) });
      await readEvents(response, (text) => set({ running: { name, text } }));
    } finally {
      set({ running: null });
      await refresh();
    }
  }

  return {
    store,
    refresh,
    // Files have changed on disk.
    changed() {
      const rest = Math.max(INTERVAL_MS, Math.min(MAX_REST_MS, lastTookMs * REST_FACTOR)) - (performance.now() - lastEndMs);
      timer ??= setTimeout(() => void refresh(), Math.max(DEBOUNCE_MS, rest));
    },
    choose(path: string) {
      chosen = path;
      return refresh();
    },
    setMessage: (message: string) => set({ message }),
    init: () => post("init"),
    branches: async (): Promise<GitBranch[]> => {
      const path = store.getState().repository?.path ?? "";
      return (await api.json<{ branches: GitBranch[] }>(`api/git/branches?repository=${encodeURIComponent(path)}`)).branches;
    },
    switchTo: (branch: string) => post("switch", { branch }),
    createBranch: (branch: string, from?: string) => post("switch", { branch, create: true, ...(from === undefined ? {} : { from }) }),
    // All files without a list.
    stage: (files?: GitFile[]) => post("stage", pathsOf(files)),
    unstage: (files?: GitFile[]) => post("unstage", pathsOf(files)),
    discard: (files?: GitFile[]) => post("discard", pathsOf(files)),
    abort: () => post("abort"),
    setIdentity: (name: string, email: string) => post("identity", { name, email }),
    addRemote: (url: string) => post("remote", { name: "origin", url }),
    commit: (request: CommitRequest) => run("Commit", "commit", request),
    continueOperation: () => run("Continue", "continue", {}),
    push: () => run("Push", "push", {}),
    pull: (request: SyncRequest = {}) => run("Pull", "pull", request),
    fetch: () => run("Fetch", "fetch", {}),
    stopRunning: () => stopper?.abort(),
    history: (path: string) => api.json<{ commits: GitCommit[]; truncated: boolean }>(`api/git/history?path=${encodeURIComponent(path)}`),
    blame: (path: string, line: number, signal: AbortSignal) =>
      api
        .call(`api/git/blame?path=${encodeURIComponent(path)}&line=${line}`, { signal })
        .then(async (response) => ((await response.json()) as { commit: GitCommit | null }).commit),
    // The bytes of a file in a revision and their id; null if the revision does not contain the file.
    async content(path: string, revision: string): Promise<{ bytes: Uint8Array; id: string } | null> {
      try {
        const response = await api.call(`api/git/content?path=${encodeURIComponent(path)}&revision=${revision}`);
        return { bytes: new Uint8Array(await response.arrayBuffer()), id: response.headers.get("etag") ?? "" };
      } catch (error) {
        if (error instanceof ApiError && (error.status === 404 || error.code === "git_no_repository")) return null;
        throw error;
      }
    },
    // Replaces the staged content of a file, unless it has another id by now.
    async stageContent(path: string, text: string, id: string): Promise<void> {
      await api.call(`api/git/index?path=${encodeURIComponent(path)}`, { method: "PUT", body: text, headers: { "if-match": id } });
      await refresh();
    },
  };
}

async function readEvents(response: Response, onProgress: (text: string) => void): Promise<void> {
  if (response.body === null) return;
  for await (const line of readLines(response.body)) {
    const event = JSON.parse(line) as GitEvent;
    if (event.type === "done") return;
    if (event.type === "progress") onProgress(event.text);
    else throw new ApiError(409, event.code, event.message);
  }
  throw new Error("The connection was lost. Refresh to see what happened");
}

// Staging a renamed file also concerns its old path.
function pathsOf(files: GitFile[] | undefined): { paths?: string[] } {
  return files === undefined ? {} : { paths: files.flatMap(({ path, from }) => (from === undefined ? [path] : [path, from])) };
}

const unavailable = (error: unknown) => error instanceof ApiError && error.code === "git_unavailable";
