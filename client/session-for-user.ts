import { BerthError, SessionConflictError, SessionNotFoundError } from "./http/errors.ts";
import { wait } from "./http/wait.ts";
import { sha256 } from "./http/web-crypto.ts";
import type { CreateSession, SessionData } from "./types/api-types.ts";

// The parts of a session and of the list of sessions that `forUser` needs.
interface UserSession extends SessionData {
  refresh(options: CallOptions): Promise<this>;
  resume(options: CallOptions & { autoStartAgent?: boolean }): Promise<this>;
}

interface Source<Session> {
  create(request: CreateSession, options: CallOptions & { idempotencyKey: string }): Promise<Session>;
  list(filter: { externalUserId: string; pageSize: number }): AsyncIterable<Session>;
}

interface CallOptions {
  signal?: AbortSignal;
}

// About a minute, the time that a create may take.
const MAX_ROUNDS = 35;
const waitMs = (round: number) => Math.min(100 * 2 ** round, 2000);

// Returns the user's session: the newest live one, resumed if it is paused, or else a new one.
//
// Concurrent calls get the same session, also from several processes. All of them that find no live session derive the same
// idempotency key from the user's last destroyed session, so the service creates one session for all of them.
export async function sessionForUser<Session extends UserSession>(
  sessions: Source<Session>,
  externalUserId: string,
  request: Omit<CreateSession, "externalUserId"> = {},
  options: CallOptions = {},
): Promise<Session> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { live, lastDestroyedId } = await findLatest(sessions, externalUserId);
    const session = live
      ? await resumeIfPaused(live, request, options)
      : await createOnce(sessions, { ...request, externalUserId }, lastDestroyedId, options);
    if (session) return session;
    // Another caller's create may still be under way.
    await wait(waitMs(round), options.signal);
  }
  throw new SessionConflictError("The user's sessions change too quickly; try again", { code: "session_busy", status: 409 });
}

// One list, not one per status: a session that is resumed between two lists would be in neither.
async function findLatest<Session extends UserSession>(
  sessions: Source<Session>,
  externalUserId: string,
): Promise<{ live?: Session; lastDestroyedId: string }> {
  let lastDestroyedId = "";
  for await (const session of sessions.list({ externalUserId, pageSize: 100 })) {
    if (session.status !== "destroyed") return { live: session, lastDestroyedId };
    lastDestroyedId ||= session.sessionId;
  }
  return { lastDestroyedId };
}

// null if the session has been destroyed in the meantime.
async function resumeIfPaused<Session extends UserSession>(
  session: Session,
  { autoStartAgent }: { autoStartAgent?: boolean },
  options: CallOptions,
): Promise<Session | null> {
  if (session.status === "running") return session;
  try {
    return await session.resume({ ...options, ...(autoStartAgent === undefined ? {} : { autoStartAgent }) });
  } catch (error) {
    if (error instanceof SessionNotFoundError) return null;
    if (!(error instanceof SessionConflictError) || error.code !== "session_already_running") throw error;
    return session.refresh(options);
  }
}

// null if another caller creates the session at the moment or has created it with other settings, or if it has been destroyed since.
async function createOnce<Session extends UserSession>(
  sessions: Source<Session>,
  request: CreateSession,
  lastDestroyedId: string,
  options: CallOptions,
): Promise<Session | null> {
  const idempotencyKey = `for-user-${await sha256(JSON.stringify([request.externalUserId, lastDestroyedId]))}`;
  try {
    const session = await sessions.create(request, { ...options, idempotencyKey });
    // The response may be that of an earlier call.
    await session.refresh(options);
    if (session.status === "destroyed") return null;
    return await resumeIfPaused(session, request, options);
  } catch (error) {
    if (error instanceof SessionNotFoundError) return null;
    if (error instanceof BerthError && ["idempotency_mismatch", "idempotency_in_flight"].includes(error.code)) return null;
    throw error;
  }
}
