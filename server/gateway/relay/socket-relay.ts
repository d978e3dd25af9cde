import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { isAppError, type SandboxId } from "@berth/contract";
import { CLOSE } from "@berth/contract/daemon.ts";
import { SECOND, type Clock } from "../../clock.ts";
import type { Refused, Upgraded } from "../../daemon-link/link-upgrade.ts";
import type { CachedSession, SessionCache } from "../access/session-cache.ts";
import type { AccessChecks } from "./access-checks.ts";
import { connectSockets, type CloseReason, type ConnectedSockets } from "./connected-sockets.ts";
import type { OutputLimit } from "../../event-loop/output-limit.ts";
import type { SessionLinks } from "./session-links.ts";
import type { Span } from "../../tracing/span.ts";
import { acceptHandshake } from "./websocket-handshake.ts";

// Relays WebSockets between callers and daemons byte by byte. The gateway adds only two frames of its own: pings, so that
// proxies keep idle connections open, and a close frame when the session is paused or destroyed or the caller loses access.
export interface SocketRelay extends AsyncDisposable {
  relay(upgrade: SocketUpgrade): Promise<void>;
  // The number of relayed sockets.
  count: () => number;
}

export interface SocketUpgrade {
  request: IncomingMessage;
  socket: Duplex;
  // The bytes that the caller sent after its request.
  head: Buffer;
  sandboxId: SandboxId;
  path: string;
  headers: Record<string, string>;
  // Absent for previews, as in http-relay.ts.
  span?: Span | undefined;
  // Whether the daemon's response to the handshake will do; every response, if absent.
  accepts?: (headers: IncomingHttpHeaders) => boolean;
  // Called when the caller sends something, except answers to pings.
  onInput?: () => void;
  // Checked periodically while the socket is open, because keys are revoked and cookies expire.
  isStillAllowed: () => Promise<boolean>;
  // Browsers hide the reply to a refused upgrade and show only close codes, so each area refuses in its own way.
  refuse: (refusal: UpgradeRefusal) => void;
}

export type UpgradeRefusal = CloseReason & Partial<Refused>;

export interface SocketRelayDeps {
  links: Pick<SessionLinks, "upgrade" | "whyStopped">;
  sessionCache: SessionCache;
  outputLimit: OutputLimit;
  accessChecks: AccessChecks;
  clock: Clock;
}

const PING_MS = 25 * SECOND;
const MAX_SOCKETS_PER_SANDBOX = 100;
const CALLER_GONE_EVENTS = ["end", "close"];

export function createSocketRelay({ links, sessionCache, outputLimit, accessChecks, clock }: SocketRelayDeps): SocketRelay {
  const bySandbox = new Map<SandboxId, Set<ConnectedSockets>>();

  async function relay(upgrade: SocketUpgrade): Promise<void> {
    const { request, socket, head, sandboxId, isStillAllowed, onInput = () => {} } = upgrade;
    if ((bySandbox.get(sandboxId)?.size ?? 0) >= MAX_SOCKETS_PER_SANDBOX)
      return upgrade.refuse({ code: 1013, reason: "too many connections" });
    const response = await upgradeDaemon(upgrade);
    if (!response) return void socket.destroy();
    if ("refused" in response) return upgrade.refuse({ ...closeReasonForRefusal(response), ...response });
    if (upgrade.accepts?.(response.headers) === false) {
      response.socket.destroy();
      return upgrade.refuse({ code: CLOSE.viewOnly, reason: "the sandbox does not support viewers" });
    }
    if (socket.destroyed) return void response.socket.destroy();

    socket.write(acceptHandshake(request, response.headers["sec-websocket-protocol"]));
    const countOutput = (bytes: number) => outputLimit.count(sandboxId, bytes);
    const whyClosed = () => links.whyStopped(sandboxId).then(closeReasonForError, closeReasonForError);
    const options = { clock, silenceMs: 3 * PING_MS, countOutput, onInput, whyClosed };
    const connected = connectSockets({ caller: { socket, head }, daemon: response, ...options });
    const siblings = bySandbox.get(sandboxId) ?? new Set();
    bySandbox.set(sandboxId, siblings.add(connected));
    const watch = sessionCache.watch(sandboxId, (cached) => {
      const closeReason = closeReasonFor(cached);
      if (closeReason) connected.close(closeReason.code, closeReason.reason);
    });
    const access = accessChecks.watch(isStillAllowed, () => connected.close(CLOSE.unauthorized, "access has ended"));
    socket.once("close", () => {
      access[Symbol.dispose]();
      watch[Symbol.dispose]();
      siblings.delete(connected);
      if (siblings.size === 0 && bySandbox.get(sandboxId) === siblings) bySandbox.delete(sandboxId);
    });
  }

  // The daemon's reply to the handshake; undefined if the caller disconnects first.
  async function upgradeDaemon({ socket, sandboxId, path, headers, span }: SocketUpgrade): Promise<Upgraded | Refused | undefined> {
    const callerGone = new AbortController();
    const abort = () => callerGone.abort();
    // A half-closed socket emits only "end": it stays open for writing.
    for (const event of CALLER_GONE_EVENTS) socket.once(event, abort);
    try {
      return await links.upgrade(sandboxId, { path, headers, signal: callerGone.signal, span });
    } catch (error) {
      if (!callerGone.signal.aborted) throw error;
      return undefined;
    } finally {
      for (const event of CALLER_GONE_EVENTS) socket.off(event, abort);
    }
  }

  const allConnected = () => [...bySandbox.values()].flatMap((siblings) => [...siblings]);
  const pings = clock.every(PING_MS, async () => {
    for (const connected of allConnected()) connected.ping();
  });

  return {
    relay,
    count: () => allConnected().length,
    async [Symbol.asyncDispose]() {
      await pings[Symbol.asyncDispose]();
      for (const connected of allConnected()) connected.close(CLOSE.serverRestarting, "the server is restarting");
    },
  };
}

// Why the caller's socket must close; null if it may stay open.
export function closeReasonFor(cached: CachedSession | null): CloseReason | null {
  if (!cached || cached.session.status === "destroyed") return { code: CLOSE.sessionDestroyed, reason: "the session is destroyed" };
  if (cached.partner.state !== "active") return { code: CLOSE.unauthorized, reason: "access is suspended" };
  return cached.session.status === "paused" ? { code: CLOSE.sessionPaused, reason: "the session is paused" } : null;
}

function closeReasonForError(error: unknown): CloseReason {
  if (isAppError(error, "session_paused")) return { code: CLOSE.sessionPaused, reason: "the session is paused" };
  if (isAppError(error, "session_not_found")) return { code: CLOSE.sessionDestroyed, reason: "the session is destroyed" };
  return { code: 1011, reason: "the sandbox does not answer" };
}

function closeReasonForRefusal({ refused }: Refused): CloseReason {
  return refused.status === 404
    ? { code: CLOSE.terminalGone, reason: "not found" }
    : { code: 1011, reason: "the sandbox refused the connection" };
}
