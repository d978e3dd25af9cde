import { AppError, isSessionId, newId, type SessionStatus } from "@berth/contract";
import type { Clock } from "../../clock.ts";
import type { ChangeOptions, Sessions, SessionView } from "../../sessions/sessions.ts";
import type { Store } from "../../store/open.ts";

// Sessions without sandboxes, for tests of what is around them: the same answers, nothing behind them.
export function createMemorySessions(store: Store, clock: Clock): Sessions {
  const sessions = new Map<string, SessionView>();
  const listeners = new Set<(session: SessionView) => void>();

  function find(partnerId: string, id: string): SessionView {
    const session = isSessionId(id) ? sessions.get(id) : undefined;
    if (!session || session.partnerId !== partnerId) throw new AppError("session_not_found");
    return session;
  }

  async function change(session: SessionView, changes: Partial<SessionView>, options?: ChangeOptions): Promise<SessionView> {
    const changed = { ...session, ...changes, updatedAt: Math.max(clock.now(), session.updatedAt + 1) };
    await store.transaction(async (tx) => options?.inTransaction?.(tx, changed));
    sessions.set(session.id, changed);
    for (const listener of listeners) listener(changed);
    return changed;
  }

  async function move(
    partnerId: string,
    id: string,
    to: SessionStatus,
    refusal: "session_already_paused" | "session_already_running",
    options?: ChangeOptions,
  ): Promise<SessionView> {
    const session = find(partnerId, id);
    if (session.status === "destroyed") throw new AppError("session_not_found");
    if (session.status === to) throw new AppError(refusal);
    return change(session, { status: to, generation: session.generation + 2 }, options);
  }

  return {
    async create(partner, request, options = {}) {
      const { externalUserId, template, metadata, timeoutMs } = request;
      const live = [...sessions.values()].filter((one) => one.partnerId === partner.id && one.status !== "destroyed");
      if (partner.maxSessions !== null && live.length >= partner.maxSessions) throw new AppError("session_quota");
      const createdAt = clock.now();
      const session: SessionView = {
        id: newId("ses", createdAt),
        sandboxId: newId("sbx", createdAt),
        partnerId: partner.id,
        externalUserId,
        status: "running",
        generation: 2,
        template,
        metadataJson: JSON.stringify(metadata),
        timeoutMs,
        expiresAt: createdAt + timeoutMs,
        stopReason: null,
        createdAt,
        updatedAt: createdAt,
      };
      await store.transaction(async (tx) => options.inTransaction?.(tx, session));
      sessions.set(session.id, session);
      return session;
    },
    get: async (partnerId, id) => find(partnerId, id),
    pause: (partnerId, id, options) => move(partnerId, id, "paused", "session_already_paused", options),
    resume: (partnerId, id, options) => move(partnerId, id, "running", "session_already_running", options),
    async destroy(partnerId, id, options) {
      const session = find(partnerId, id);
      return session.status === "destroyed"
        ? session
        : change(session, { status: "destroyed", expiresAt: null, stopReason: "api" }, options);
    },
    async update(partnerId, id, { timeoutMs, metadata }, options) {
      const session = find(partnerId, id);
      if (session.status === "destroyed") throw new AppError("session_not_found");
      const expiry = timeoutMs === undefined ? {} : { timeoutMs, expiresAt: session.expiresAt && clock.now() + timeoutMs };
      return change(session, { ...expiry, ...(metadata && { metadataJson: JSON.stringify(metadata) }) }, options);
    },
    async list(partnerId, { status, externalUserId, metadata = {}, limit, after }) {
      const place = (one: { createdAt: number; id: string }) => `${String(one.createdAt).padStart(16, "0")} ${one.id}`;
      const all = [...sessions.values()]
        .filter((one) => one.partnerId === partnerId && (status === undefined || one.status === status))
        .filter((one) => externalUserId === undefined || one.externalUserId === externalUserId)
        .filter((one) => hasMetadata(one, metadata))
        .filter((one) => after === undefined || place(one) < place(after))
        .sort((a, b) => (place(a) < place(b) ? 1 : -1));
      const page = all.slice(0, limit);
      return { sessions: page, next: all.length > limit ? page.at(-1)! : null };
    },
    bySandbox: async (sandboxId) => [...sessions.values()].find((one) => one.sandboxId === sandboxId) ?? null,
    onChange(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    async [Symbol.asyncDispose]() {},
  };
}

function hasMetadata({ metadataJson }: SessionView, wanted: Record<string, string>): boolean {
  const metadata = JSON.parse(metadataJson) as Record<string, string>;
  return Object.entries(wanted).every(([key, value]) => metadata[key] === value);
}
