import { AppError, isSessionId, newId, type SessionStatus } from "@berth/contract";
import { MIN_EXTENSION_MS } from "@berth/contract/workspace/workspace.ts";
import type { Clock } from "../../clock.ts";
import type { ChangeOptions, ListPosition, PartnerLimits, Sessions, SessionView } from "../../sessions/sessions.ts";
import type { Store } from "../../store/open.ts";

// A fake of the session service without sandboxes. It passes the same suite as the real service, sessions.suite.ts.
export function createMemorySessions(store: Store, clock: Clock): Sessions {
  const sessions = new Map<string, SessionView>();
  // Sessions whose create has not finished yet: they count for quotas, but no call finds them.
  const creating = new Set<SessionView>();
  const changing = new Map<string, Promise<unknown>>();
  const listeners = new Set<(session: SessionView) => void>();

  function find(partnerId: string, id: string): SessionView {
    const session = isSessionId(id) ? sessions.get(id) : undefined;
    if (!session || session.partnerId !== partnerId) throw new AppError("session_not_found");
    return session;
  }

  function requireQuota(partner: PartnerLimits, externalUserId: string): void {
    const live = [...sessions.values(), ...creating].filter((one) => one.partnerId === partner.id && one.status !== "destroyed");
    const ofUser = live.filter((one) => one.externalUserId === externalUserId);
    if (live.length >= (partner.maxSessions ?? Infinity)) throw new AppError("session_quota");
    if (ofUser.length >= (partner.maxSessionsPerUser ?? Infinity)) throw new AppError("session_quota");
  }

  async function change(session: SessionView, changes: Partial<SessionView>, options?: ChangeOptions): Promise<SessionView> {
    if (changing.has(session.id)) throw new AppError("session_busy");
    const changed = { ...session, ...changes, updatedAt: Math.max(clock.now(), session.updatedAt + 1) };
    const transaction = store.transaction(async (tx) => options?.record?.(tx, changed));
    changing.set(session.id, transaction);
    await transaction.finally(() => changing.delete(session.id));
    sessions.set(session.id, changed);
    for (const listener of listeners) listener(changed);
    return changed;
  }

  async function move(session: SessionView, to: SessionStatus, changes: Partial<SessionView>, options?: ChangeOptions) {
    return change(session, { status: to, state: to, generation: session.generation + 2, ...changes }, options);
  }

  function resumePaused(session: SessionView, options?: ChangeOptions): Promise<SessionView> {
    const { timeoutMs, idleTimeoutMs, maxTimeoutMs } = session;
    const nowMs = clock.now();
    const times = {
      expiresAt: nowMs + timeoutMs,
      idleAt: idleTimeoutMs && nowMs + idleTimeoutMs,
      extendUntil: maxTimeoutMs && nowMs + maxTimeoutMs,
    };
    return move(session, "running", { ...times, stopReason: null }, options);
  }

  return {
    async create(partner, request, options = {}) {
      const { externalUserId, template, metadata, timeoutMs, idleTimeoutMs = null } = request;
      requireQuota(partner, externalUserId);
      const createdAt = clock.now();
      const session: SessionView = {
        id: newId("ses", createdAt),
        sandboxId: newId("sbx", createdAt),
        partnerId: partner.id,
        externalUserId,
        status: "running",
        state: "running",
        generation: 2,
        template,
        host: null,
        metadataJson: JSON.stringify(metadata),
        timeoutMs,
        expiresAt: createdAt + timeoutMs,
        idleTimeoutMs,
        idleAt: idleTimeoutMs && createdAt + idleTimeoutMs,
        extendUntil: partner.maxTimeoutMs ? createdAt + partner.maxTimeoutMs : null,
        autoResume: request.autoResume ?? partner.autoResume ?? false,
        onTimeout: request.onTimeout ?? partner.onTimeout ?? "pause",
        maxTimeoutMs: partner.maxTimeoutMs ?? null,
        resources: request.resources ?? null,
        egress: request.egress ?? null,
        volumes: null,
        setup: null,
        stopReason: null,
        createdAt,
        updatedAt: createdAt,
      };
      creating.add(session);
      await store.transaction(async (tx) => options.record?.(tx, session)).finally(() => creating.delete(session));
      sessions.set(session.id, session);
      return session;
    },
    read: find,
    get: async (partnerId, id) => find(partnerId, id),
    async pause(partnerId, id, options) {
      const session = find(partnerId, id);
      if (session.status === "destroyed") throw new AppError("session_not_found");
      if (session.status === "paused") throw new AppError("session_already_paused");
      return move(session, "paused", { ...NO_TIMES, stopReason: "api" }, options);
    },
    async resume(partnerId, id, options) {
      const session = find(partnerId, id);
      if (session.status === "destroyed") throw new AppError("session_not_found");
      if (session.status === "running") throw new AppError("session_already_running");
      return resumePaused(session, options);
    },
    async wake(partnerId, id) {
      const session = find(partnerId, id);
      if (session.status === "destroyed") throw new AppError("session_not_found");
      if (session.status === "running") return session;
      if (!session.autoResume) throw new AppError("session_paused");
      return resumePaused(session);
    },
    async extend(partnerId, id) {
      const session = find(partnerId, id);
      if (session.status === "destroyed") throw new AppError("session_not_found");
      if (session.status === "paused" || session.expiresAt === null) throw new AppError("session_paused");
      const expiresAt = Math.min(session.expiresAt + session.timeoutMs, session.extendUntil ?? 0);
      return expiresAt - session.expiresAt < MIN_EXTENSION_MS ? session : change(session, { expiresAt });
    },
    async destroy(partnerId, id, options) {
      await changing.get(id)?.catch(() => {});
      const session = find(partnerId, id);
      if (session.status === "destroyed") return session;
      return move(session, "destroyed", { ...NO_TIMES, stopReason: "api" }, options);
    },
    async update(partnerId, id, { timeoutMs, idleTimeoutMs, metadata, ...rules }, options) {
      const session = find(partnerId, id);
      if (session.status === "destroyed") throw new AppError("session_not_found");
      const expiry = timeoutMs === undefined ? {} : { timeoutMs, expiresAt: session.expiresAt && clock.now() + timeoutMs };
      const idle =
        idleTimeoutMs === undefined ? {} : { idleTimeoutMs, idleAt: session.expiresAt && idleTimeoutMs && clock.now() + idleTimeoutMs };
      return change(session, { ...expiry, ...idle, ...rules, ...(metadata && { metadataJson: JSON.stringify(metadata) }) }, options);
    },
    async retrySource() {
      throw new AppError("source_not_failed");
    },
    async list(partnerId, { status, externalUserId, metadata = {}, limit, after }) {
      const matching = [...sessions.values()]
        .filter((one) => one.partnerId === partnerId && (status === undefined || one.status === status))
        .filter((one) => externalUserId === undefined || one.externalUserId === externalUserId)
        .filter((one) => hasMetadata(one, metadata))
        .filter((one) => after === undefined || sortKey(one) < sortKey(after))
        .sort((a, b) => (sortKey(a) < sortKey(b) ? 1 : -1));
      const page = matching.slice(0, limit);
      const metadataBytes = page.reduce((sum, { metadataJson }) => sum + metadataJson.length, 0);
      return { sessions: page, next: matching.length > limit ? page.at(-1)! : null, metadataBytes };
    },
    bySandbox: async (sandboxId) => [...sessions.values()].find((one) => one.sandboxId === sandboxId) ?? null,
    onChange(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    async [Symbol.asyncDispose]() {},
  };
}

const NO_TIMES = { expiresAt: null, idleAt: null, extendUntil: null };

const sortKey = ({ createdAt, id }: ListPosition): string => `${String(createdAt).padStart(16, "0")} ${id}`;

function hasMetadata({ metadataJson }: SessionView, expected: Record<string, string>): boolean {
  const metadata = JSON.parse(metadataJson) as Record<string, string>;
  return Object.entries(expected).every(([key, value]) => metadata[key] === value);
}
