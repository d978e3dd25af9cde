import type { IncomingMessage } from "node:http";
import { AppError, isAppError, isSandboxId, tokenScopeOf, type SandboxId } from "@berth/contract";
import { SECOND, type Clock } from "../clock.ts";
import type { SessionAccess } from "../session-access.ts";
import type { Activity } from "../sessions/idle/activity.ts";
import type { SessionView } from "../sessions/sessions.ts";
import { notRunningError, type CachedSession, type SessionCache } from "./access/session-cache.ts";
import { wake, type Waker } from "./access/wake.ts";
import { spanOf } from "../tracing/span.ts";
import type { AccessChecks } from "./relay/access-checks.ts";
import { relayToApi } from "./relay/api-relay.ts";
import type { OutputLimit } from "../event-loop/output-limit.ts";
import { toDaemonPath } from "./relay/daemon-path.ts";
import type { SessionLinks } from "./relay/session-links.ts";
import type { SocketRelay } from "./relay/socket-relay.ts";
import { handshakeHeaders, requireHandshake } from "./relay/websocket-handshake.ts";
import { relayRefusal } from "./requests/reply.ts";
import type { Handler } from "./requests/handler.ts";
import { splitUrl } from "./requests/request-parts.ts";

// `/sandboxes/{sandboxId}/…`: the daemon's API for partners' backends, authorized by API key or session token.
export interface SandboxesDeps {
  // The rights of the API key or token that the request carries; null if it carries none that is valid.
  authenticate: (request: IncomingMessage) => Promise<SessionAccess | null>;
  sessionCache: SessionCache;
  sessions: Waker;
  links: SessionLinks;
  activity: Pick<Activity, "note" | "begin">;
  outputLimit: OutputLimit;
  accessChecks: AccessChecks;
  sockets: Pick<SocketRelay, "relay">;
  clock: Clock;
}

interface Authorized {
  cached: CachedSession;
  path: string;
  // Whether the same request would be authorized now.
  isStillAllowed: () => Promise<boolean>;
}

const INPUT_INTERVAL_MS = 5 * SECOND;
const PAUSED_BEFORE = "The session was paused and is resumed; send the request again";

export function createSandboxes(deps: SandboxesDeps): Handler {
  const { authenticate, sessionCache, sessions, links, activity, outputLimit, accessChecks, sockets, clock } = deps;

  // `method` is `WS` for a WebSocket.
  async function authorize(request: IncomingMessage, method: string): Promise<Authorized> {
    const access = await authenticate(request);
    if (!access) throw new AppError("unauthorized");
    const { path, query } = splitUrl(request);
    const [, , named = "", ...rest] = path.split("/");
    // The holder of a token may know only the id of its session.
    const id = named === access.only?.sessionId ? access.only.sandboxId : named;
    // The bare sandbox URL replies with the daemon's health.
    const subpath = rest.join("/") === "" ? "/health" : `/${rest.join("/")}`;
    const daemonPath = toDaemonPath(subpath, query);
    const scope = daemonPath === null ? null : tokenScopeOf(method, subpath);
    if (!access.allows(scope)) throw new AppError("insufficient_scope");
    const cached = isSandboxId(id) ? await sessionCache.get(id) : null;
    if (!cached || !access.opens(cached.session)) throw new AppError("session_not_found");
    if (daemonPath === null) throw new AppError("not_found");
    const isStillAllowed = async () => {
      const now = await authenticate(request);
      return now !== null && now.opens(cached.session) && now.allows(scope);
    };
    return { cached, path: daemonPath, isStillAllowed };
  }

  function requireRunning(cached: CachedSession): SessionView {
    const notRunning = notRunningError(cached);
    if (notRunning) throw notRunning;
    return cached.session;
  }

  // Typing arrives in many small frames, so only one in a few seconds is noted.
  function noteInput(sandboxId: SandboxId): () => void {
    let notedMs = clock.now();
    return () => {
      if (clock.now() - notedMs < INPUT_INTERVAL_MS) return;
      notedMs = clock.now();
      const note = (cached: CachedSession | null) => cached && activity.note(cached.session);
      sessionCache.get(sandboxId).then(note, () => {});
    };
  }

  return {
    async request(request, response) {
      const arrivedMs = clock.now();
      const { cached, path, isStillAllowed } = await authorize(request, request.method ?? "");
      const session = requireRunning(await wake(sessions, cached));
      if (response.destroyed) return;
      // A command runs for as long as its request.
      const use = activity.begin(session);
      const access = accessChecks.watch(isStillAllowed, () => response.destroy());
      response.on("close", () => {
        use[Symbol.dispose]();
        access[Symbol.dispose]();
      });
      const relay = () => relayToApi({ links, outputLimit }, { request, response, sandboxId: session.sandboxId, path });
      await relay().catch(async (error: unknown) => {
        if (!isAppError(error, "session_paused") || response.headersSent) throw error;
        // A pause that came after the call stands. Another server may have paused the session before, though, and a third one may have
        // resumed it since; then only a call that changes nothing is repeated, because nothing tells when the pause was.
        const found = (await sessionCache.get(session.sandboxId))?.session;
        const wasPausedBefore = found?.state === "paused" && found.updatedAt <= arrivedMs;
        const mayRepeat = wasPausedBefore || (isReading(request) && found?.state !== "paused");
        if (!found?.autoResume || !mayRepeat) throw error;
        await sessions.wake(session.partnerId, session.id);
        if (hasBody(request)) throw new AppError("session_resuming", { message: PAUSED_BEFORE, cause: error });
        await relay();
      });
    },

    async upgrade(request, socket, head) {
      const { cached, path, isStillAllowed } = await authorize(request, "WS");
      // A socket does not wake the session: a client that lost it by the pause opens it again.
      const session = requireRunning(cached);
      const { sandboxId } = session;
      requireHandshake(request);
      activity.note(session);
      await sockets.relay({
        request,
        socket,
        head,
        sandboxId,
        path,
        headers: handshakeHeaders(request),
        span: spanOf(request),
        onInput: noteInput(sandboxId),
        isStillAllowed,
        refuse: ({ refused, reason }) => relayRefusal(socket, refused?.status ?? 503, refused?.body ?? JSON.stringify({ error: reason })),
      });
    },
  };
}

// The body may be lost, so such a request cannot be sent to the sandbox again.
const isReading = ({ method }: IncomingMessage): boolean => method === "GET" || method === "HEAD";

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
