import type { Branding } from "@berth/contract/workspace/workspace.ts";
import { AppError, type SandboxId, type SessionId } from "@berth/contract";
import { SECOND, type Clock } from "../../clock.ts";
import type { Log } from "../../log.ts";
import type { Sessions, SessionView } from "../../sessions/sessions.ts";

// A short-lived cache of sessions and their partners, keyed by sandbox, because every request needs both. Changes made by
// this server invalidate the entry at once; changes by other servers and by the CLI show up within FRESH_MS.
export interface SessionCache extends AsyncDisposable {
  // null: no such sandbox, or a pooled sandbox that has no partner yet.
  get(sandboxId: SandboxId): Promise<CachedSession | null>;
  // Reads it from the store.
  getFresh(sandboxId: SandboxId): Promise<CachedSession | null>;
  // Calls the listener with the current value, and again after every change until disposed.
  watch(sandboxId: SandboxId, listener: (cached: CachedSession | null) => void): Disposable;
}

export interface CachedSession {
  session: SessionView;
  partner: GatewayPartner;
  // Whether the operator's support has the workspace open.
  hasSupportVisit: boolean;
}

export interface GatewayPartner {
  id: string;
  name: string;
  state: "active" | "suspended";
  // Origins that may embed the workspace in a frame.
  origins: readonly string[];
  branding: Branding;
  // Whether the operator's support may look at workspaces.
  supportAccess: boolean;
}

export interface SessionCacheDeps {
  sessions: Pick<Sessions, "bySandbox" | "onChange">;
  // Rejects if there is no such partner.
  findPartner: (id: string) => Promise<GatewayPartner>;
  // Called only if the partner allows support.
  hasSupportVisit: (sessionId: SessionId) => Promise<boolean>;
  clock: Clock;
  log: Log;
}

const FRESH_MS = 3 * SECOND;
const MAX_ENTRIES = 10_000;

export function createSessionCache({ sessions, findPartner, hasSupportVisit, clock, log }: SessionCacheDeps): SessionCache {
  const entries = new Map<SandboxId, { readAt: number; reading: Promise<CachedSession | null> }>();
  const watched = new Map<SandboxId, Watched>();

  function get(sandboxId: SandboxId): Promise<CachedSession | null> {
    const entry = entries.get(sandboxId);
    if (entry && clock.now() - entry.readAt < FRESH_MS) return entry.reading;
    return reload(sandboxId);
  }

  function reload(sandboxId: SandboxId): Promise<CachedSession | null> {
    if (entries.size >= MAX_ENTRIES) entries.clear();
    const entry = { readAt: clock.now(), reading: read(sandboxId) };
    entries.set(sandboxId, entry);
    // Failures are not cached.
    entry.reading.catch(() => entries.get(sandboxId) === entry && entries.delete(sandboxId));
    return entry.reading;
  }

  async function read(sandboxId: SandboxId): Promise<CachedSession | null> {
    const session = await sessions.bySandbox(sandboxId);
    if (!session) return null;
    const partner = await findPartner(session.partnerId);
    return { session, partner, hasSupportVisit: partner.supportAccess && (await hasSupportVisit(session.id)) };
  }

  async function refresh(sandboxId: SandboxId): Promise<void> {
    try {
      const cached = await reload(sandboxId);
      const entry = watched.get(sandboxId);
      const fingerprint = fingerprintOf(cached);
      if (!entry || entry.lastFingerprint === fingerprint) return;
      entry.lastFingerprint = fingerprint;
      for (const listener of entry.listeners) listener(cached);
    } catch (error) {
      // The next refresh retries; until then, watchers keep the last known value.
      logFailedRead(sandboxId, error);
    }
  }

  function watch(sandboxId: SandboxId, listener: Listener): Disposable {
    const entry: Watched = watched.get(sandboxId) ?? { listeners: new Set(), lastFingerprint: "" };
    watched.set(sandboxId, entry);
    entry.listeners.add(listener);
    void notifyFirst(sandboxId, entry, listener);
    return {
      [Symbol.dispose]() {
        entry.listeners.delete(listener);
        if (entry.listeners.size === 0 && watched.get(sandboxId) === entry) watched.delete(sandboxId);
      },
    };
  }

  async function notifyFirst(sandboxId: SandboxId, entry: Watched, listener: Listener): Promise<void> {
    try {
      const cached = await get(sandboxId);
      entry.lastFingerprint ||= fingerprintOf(cached);
      if (entry.listeners.has(listener)) listener(cached);
    } catch (error) {
      logFailedRead(sandboxId, error);
    }
  }

  const logFailedRead = (sandboxId: SandboxId, error: unknown) =>
    log.warn("gateway.session_read_failed", { sandboxId, message: String(error) });

  const changes = sessions.onChange((session) => {
    entries.delete(session.sandboxId);
    if (watched.has(session.sandboxId)) void refresh(session.sandboxId);
  });
  const refreshes = clock.every(FRESH_MS, async () => {
    for (const sandboxId of watched.keys()) await refresh(sandboxId);
  });

  return {
    get,
    getFresh: reload,
    watch,
    async [Symbol.asyncDispose]() {
      changes[Symbol.dispose]();
      watched.clear();
      await refreshes[Symbol.asyncDispose]();
    },
  };
}

// The error for a request that needs a running session; null if the session is running.
export function notRunningError(cached: CachedSession | null, cause?: unknown): AppError | null {
  if (!cached || cached.session.status === "destroyed" || cached.session.state === "destroying")
    return new AppError("session_not_found", { cause });
  return cached.session.status === "paused" ? new AppError("session_paused", { cause }) : null;
}

type Listener = (cached: CachedSession | null) => void;

interface Watched {
  listeners: Set<Listener>;
  // The fingerprint of the value that the listeners received last.
  lastFingerprint: string;
}

// Everything that a watcher reacts to.
const fingerprintOf = (cached: CachedSession | null) =>
  cached
    ? `${cached.session.status} ${cached.session.generation} ${cached.session.updatedAt} ${cached.session.idleAt} ${cached.partner.state} ${cached.partner.name} ${JSON.stringify(cached.partner.branding)} ${cached.hasSupportVisit}`
    : "none";
