import { paged, type Paged } from "./http/paging.ts";
import { readJson, type Transport } from "./http/transport.ts";
import { createAgent, type Agent } from "./sandbox/agent.ts";
import { exec, execStream, type Collected } from "./sandbox/exec.ts";
import { createFiles, type Files } from "./sandbox/files.ts";
import { createProcesses, type Processes } from "./sandbox/processes.ts";
import { createRuns, type Run, type Runs } from "./runs.ts";
import { createSessionTokens, type SessionTokens } from "./session-tokens.ts";
import { sessionForUser } from "./session-for-user.ts";
import type {
  CreateSession,
  EgressHost,
  ForkedSessions,
  IssueLaunchUrl,
  IssuePreviewUrl,
  LaunchUrl,
  ListSessions,
  Page,
  PreviewUrl,
  RunStarted,
  SessionData,
  SessionStatus,
  SnapshotData,
  UpdateSession,
} from "./types/api-types.ts";
import type { ExecEvent, ExecOptions, ExecResult } from "./types/sandbox-types.ts";

export interface Sessions {
  // Resolves when the sandbox is ready or, with `wait`, when its source is there or has failed. With your own idempotency key, a retry after a crash of your process returns the
  // session of the first attempt.
  create(request: CreateSession, options?: CallOptions & { idempotencyKey?: string; wait?: "source" }): PendingSession;
  // Creates up to 20 sessions with the files of one session or snapshot. Each result has a session or an error. Rejects if none could
  // be created.
  fork(
    source: { sessionId: string } | { snapshotId: string },
    request: ForkSessions,
    options?: CallOptions & { idempotencyKey?: string },
  ): Promise<ForkResult[]>;
  // The session of a user: the newest live one, resumed if it is paused, or else a new one with these settings. Concurrent calls
  // get the same session, so this cannot create a second one.
  forUser(externalUserId: string, request?: Omit<CreateSession, "externalUserId">, options?: CallOptions): Promise<Session>;
  get(sessionId: string, options?: CallOptions): Promise<Session>;
  // Permanently deletes the session and its files. Idempotent.
  destroy(sessionId: string, options?: CallOptions): Promise<void>;
  // Newest first: `for await (const session of berth.sessions.list({ status: "running" }))`.
  list(filter?: ListSessions): Paged<Session>;
}

export type ForkSessions = Omit<CreateSession, "source" | "count"> & { count: number };

export interface ForkResult {
  session: Session | null;
  error: { code: string; message: string } | null;
}

// A promise of a session that can also be used directly: `sessions.create(…).exec("npm test")`.
export type PendingSession = Promise<Session> & Pick<Session, "exec" | "launchUrl">;

export interface CallOptions {
  signal?: AbortSignal;
}

// A session with its last known data. Methods that change the session update the data.
export interface Session extends SessionData {
  refresh(options?: CallOptions): Promise<Session>;
  update(changes: UpdateSession, options?: CallOptions): Promise<Session>;
  pause(options?: CallOptions): Promise<Session>;
  resume(options?: CallOptions & { autoStartAgent?: boolean }): Promise<Session>;
  // Permanently deletes the session and its files. Idempotent.
  destroy(options?: CallOptions): Promise<Session>;
  // Fetches the repository again, after it has failed.
  retrySource(options?: CallOptions): Promise<Session>;
  // A signed URL that opens the workspace in your user's browser. It expires after a few minutes.
  launchUrl(options?: CallOptions & IssueLaunchUrl): Promise<LaunchUrl>;
  // A signed URL that opens one port of the sandbox in a browser. Everyone who has the URL can use it.
  previewUrl(port: number, options: CallOptions & Omit<IssuePreviewUrl, "port">): Promise<PreviewUrl>;
  readonly tokens: SessionTokens;
  // The hosts that the sandbox reached or tried to reach, the last used first.
  egressLog(options?: CallOptions): Promise<EgressHost[]>;

  // Copies the files of the session, which may be running or paused.
  snapshot(options?: CallOptions & { name?: string }): Promise<SnapshotData>;

  exec(command: string | string[], options?: Collected): Promise<ExecResult>;
  execStream(command: string | string[], options?: ExecOptions): AsyncGenerator<ExecEvent>;
  readonly processes: Processes;
  // Work of the coding agent that goes on without its caller.
  readonly runs: Runs;
  // The run of a create with `run`.
  readonly run: Run | undefined;
  // The files of the workspace.
  readonly files: Files;
  // The files of the whole sandbox: paths are absolute, or relative to the home folder.
  readonly home: Files;
  readonly agent: Agent;
}

type CreatedSession = SessionData & { run?: RunStarted };

const PATH = "/api/b2b/sessions";

const pathOf = (id: string) => `${PATH}/${encodeURIComponent(id)}`;

export function createSessions(send: Transport): Sessions {
  const sessions: Sessions = {
    create(request, { idempotencyKey, wait, signal } = {}) {
      const query = { wait };
      const call = {
        method: "POST",
        url: PATH,
        query,
        json: request,
        idempotencyKey: idempotencyKey ?? true,
        repeatable: true,
        signal,
        isLong: wait !== undefined || (request.source !== undefined && !("git" in request.source)),
      } as const;
      const pending = readJson<CreatedSession>(send(call)).then(bind);
      return Object.assign(pending, {
        exec: async (...args: Parameters<Session["exec"]>) => (await pending).exec(...args),
        launchUrl: async (...args: Parameters<Session["launchUrl"]>) => (await pending).launchUrl(...args),
      });
    },
    async fork(source, request, { idempotencyKey, signal } = {}) {
      const json = { ...request, source };
      const call = {
        method: "POST",
        url: PATH,
        json,
        idempotencyKey: idempotencyKey ?? true,
        repeatable: true,
        signal,
        isLong: true,
      } as const;
      const { sessions: results } = await readJson<ForkedSessions>(send(call));
      return results.map(({ session, error }) => ({ session: session && bind(session), error }));
    },
    forUser: (externalUserId, request, options) => sessionForUser(sessions, externalUserId, request, options),
    async get(sessionId, { signal } = {}) {
      return bind(await readJson(send({ method: "GET", url: pathOf(sessionId), query: { expand: "details" }, signal })));
    },
    async destroy(sessionId, { signal } = {}) {
      await readJson(send({ method: "DELETE", url: pathOf(sessionId), signal }));
    },
    list: ({ status, externalUserId, metadata = {}, pageSize } = {}) =>
      paged(async (cursor) => {
        const metadataQuery = Object.fromEntries(Object.entries(metadata).map(([key, value]) => [`metadata.${key}`, value]));
        const query = { status, externalUserId, ...metadataQuery, limit: pageSize, cursor, expand: "details" };
        const { data, nextCursor } = await readJson<Page<SessionData>>(send({ method: "GET", url: PATH, query }));
        return { data: data.map(bind), nextCursor };
      }),
  };
  return sessions;

  // The data are own properties and the methods are inherited, so that printing or serializing shows only the data.
  function bind({ run, ...data }: CreatedSession): Session {
    const path = pathOf(data.sessionId);
    const apply = (changed: Partial<SessionData>) => Object.assign(session, changed);
    const post = <T>(action: string, json: unknown, { signal }: CallOptions) =>
      readJson<T>(
        send({
          method: "POST",
          url: `${path}/${action}`,
          json,
          idempotencyKey: true,
          repeatable: true,
          signal,
          isLong: action === "snapshots",
        }),
      );
    const sandboxUrl = () => session.sandboxUrl;
    const runs = createRuns(send, path);
    const methods: Omit<Session, keyof SessionData> = {
      refresh: async ({ signal } = {}) =>
        apply(await readJson<SessionData>(send({ method: "GET", url: path, query: { expand: "details" }, signal }))),
      update: async (changes, { signal } = {}) =>
        apply(await readJson<SessionData>(send({ method: "PATCH", url: path, query: { expand: "details" }, json: changes, signal }))),
      pause: async (options = {}) => apply(await post<{ status: SessionStatus }>("pause", undefined, options)),
      resume: async ({ autoStartAgent, ...options } = {}) => apply(await post<Partial<SessionData>>("resume", { autoStartAgent }, options)),
      destroy: async ({ signal } = {}) => apply(await readJson<{ status: SessionStatus }>(send({ method: "DELETE", url: path, signal }))),
      retrySource: async (options = {}) => apply(await post<SessionData>("source/retry", undefined, options)),
      launchUrl({ role, displayName, ...options } = {}) {
        const isPlain = role === undefined && displayName === undefined;
        return post<LaunchUrl>("launch-url", isPlain ? undefined : { role, displayName }, options);
      },
      previewUrl: (port, { ttlMs, path: opened, ...options }) =>
        post<PreviewUrl>("preview-url", { port, ttlMs, ...(opened !== undefined && { path: opened }) }, options),
      tokens: createSessionTokens(send, path),
      egressLog: async ({ signal } = {}) =>
        (await readJson<{ data: EgressHost[] }>(send({ method: "GET", url: `${path}/egress`, signal }))).data,
      snapshot: ({ name, ...options } = {}) => post<SnapshotData>("snapshots", { name }, options),
      exec: (command, options) => exec(send, session.sandboxUrl, command, options),
      execStream: (command, options) => execStream(send, session.sandboxUrl, command, options),
      processes: createProcesses(send, sandboxUrl),
      runs,
      run: run && runs.get(run.runId),
      files: createFiles(send, sandboxUrl),
      home: createFiles(send, sandboxUrl, "home"),
      agent: createAgent(send, sandboxUrl),
    };
    const session: Session = Object.assign(Object.create(methods) as Session, data);
    return session;
  }
}
