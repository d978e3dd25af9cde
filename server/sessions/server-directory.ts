import { AppError } from "@berth/contract";
import { DAY, MINUTE, type Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { Store } from "../store/open.ts";
import { listServers, purgeServers, recordServer } from "../store/servers.ts";

// The base URLs of the servers on one database. The sandboxes of a machine are reached only through the server there, so the
// URLs of a session lead to that server.
export interface ServerDirectory extends AsyncDisposable {
  // Resolves when `baseUrlOf` can answer for all these sessions. Reads the database only for a machine that is new to this server, and
  // otherwise returns no promise.
  learn(sessions: readonly Located[]): Promise<void> | undefined;
  // The base URL of the server that holds the session; this server's, if the session is here, on no machine or on an unknown one.
  baseUrlOf(session: Located): string;
  // The error for a call that only the server on the session's machine can handle. It names that server.
  elsewhere(session: Located): Promise<AppError>;
}

// The part of a session that the directory uses. The host is null if the sandbox is bound to no machine.
export interface Located {
  host: string | null;
}

export interface ServerDirectoryDeps {
  store: Store;
  // This server's machine; null if its sandboxes are bound to no machine.
  host: string | null;
  baseUrl: string;
  clock: Clock;
  log: Log;
}

const RENEW_MS = MINUTE;
const FORGET_MS = 30 * DAY;

export async function openServerDirectory(deps: ServerDirectoryDeps): Promise<ServerDirectory> {
  const { store, host, baseUrl, clock, log } = deps;
  const known = new Map<string, string>();
  // Machines that the database does not know. They are looked up again at the next renewal.
  const missing = new Set<string>();

  async function reload(): Promise<void> {
    const servers = await listServers(store.db);
    known.clear();
    missing.clear();
    for (const server of servers) known.set(server.host, server.baseUrl);
  }

  async function renew(): Promise<void> {
    if (host !== null) await recordServer(store.db, { host, baseUrl }, clock.now());
    await purgeServers(store.db, clock.now() - FORGET_MS);
    await reload();
  }

  const isUnknown = (other: string | null): other is string => other !== null && other !== host && !known.has(other) && !missing.has(other);

  async function ask(sessions: readonly Located[]): Promise<void> {
    await reload();
    for (const session of sessions) if (isUnknown(session.host)) missing.add(session.host);
  }
  const learn: ServerDirectory["learn"] = (sessions) => (sessions.some(({ host: other }) => isUnknown(other)) ? ask(sessions) : undefined);

  const baseUrlOf: ServerDirectory["baseUrlOf"] = (session) =>
    session.host === null || session.host === host ? baseUrl : (known.get(session.host) ?? baseUrl);

  // An SQLite database belongs to one server.
  const isShared = store.engine === "postgres";
  if (isShared) await renew();
  const renewals = isShared
    ? clock.every(RENEW_MS, () => renew().catch((error: unknown) => log.warn("servers.renew_failed", { error: String(error) })))
    : null;

  return {
    learn,
    baseUrlOf,
    async elsewhere(session) {
      await learn([session]);
      const owner = baseUrlOf(session);
      if (owner === baseUrl) return new AppError("session_elsewhere");
      return new AppError("session_elsewhere", { message: `This session is on another machine. Send the request to ${owner}` });
    },
    [Symbol.asyncDispose]: async () => renewals?.[Symbol.asyncDispose](),
  };
}
