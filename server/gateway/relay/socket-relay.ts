import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { SandboxId } from "@berth/contract";
import { CLOSE } from "@berth/contract/daemon.ts";
import { SECOND, type Clock } from "../../clock.ts";
import type { DaemonLinks, Refused, Upgraded } from "../../daemon-link/daemon-links.ts";
import { markWork } from "../../event-loop/loop-work.ts";
import { closeFrame, createFrameWalker, pingFrame } from "./websocket-frames.ts";
import type { Standing, Standings } from "../access/session-cache.ts";

// Joins a caller's WebSocket to one of a daemon and passes the bytes on as they are. The only frames of our own are pings,
// so that idle connections are not cut on the way, and the goodbye when the session is paused, destroyed or no longer
// the caller's.
export interface SocketRelay extends AsyncDisposable {
  join(joint: Joint): Promise<void>;
  // How many are joined now.
  count: () => number;
}

export interface Joint {
  request: IncomingMessage;
  socket: Duplex;
  // What the caller has sent behind its request.
  head: Buffer;
  sandboxId: SandboxId;
  path: string;
  headers: Record<string, string>;
  // Asked now and then while the socket is open: keys are revoked and cookies age.
  isStillAllowed: () => Promise<boolean>;
  // Pages cannot see the answer to a refused upgrade, only close codes: for them a refusal is a goodbye.
  refuse: (refusal: Refusal) => void;
}

export type Refusal = { code: number; reason: string } & Partial<Refused>;

export interface SocketRelayDeps {
  links: Pick<DaemonLinks, "upgrade">;
  standings: Standings;
  clock: Clock;
}

const TO_CALLER = { name: "gateway socket to caller" };
const TO_DAEMON = { name: "gateway socket to daemon" };
const PING_MS = 25 * SECOND;
const CHECK_MS = 5 * SECOND;
const SILENCE_MS = 3 * PING_MS;
const MAX_SOCKETS = 100;
const GOODBYE_MS = 2 * SECOND;
const GRACE_MS = 500;
const LEAVING = ["end", "close"];

export function createSocketRelay({ links, standings, clock }: SocketRelayDeps): SocketRelay {
  const joined = new Map<SandboxId, Set<Joined & Pick<Joint, "isStillAllowed">>>();

  async function join(joint: Joint): Promise<void> {
    const { socket, sandboxId } = joint;
    if ((joined.get(sandboxId)?.size ?? 0) >= MAX_SOCKETS) return joint.refuse({ code: 1013, reason: "too many connections" });
    const answer = await askUnlessGone(joint);
    if (!answer) return void socket.destroy();
    if ("refused" in answer) return joint.refuse({ ...refusalOf(answer), ...answer });
    if (socket.destroyed) return void answer.socket.destroy();

    socket.write(acceptance(joint.request, answer.headers["sec-websocket-protocol"]));
    const pair = { ...pass(socket, joint.head, answer.socket, answer.head, clock), isStillAllowed: joint.isStillAllowed };
    const siblings = joined.get(sandboxId) ?? new Set();
    joined.set(sandboxId, siblings.add(pair));
    const following = standings.follow(sandboxId, (standing) => {
      const farewell = farewellFor(standing);
      if (farewell) pair.close(farewell.code, farewell.reason);
    });
    socket.once("close", () => {
      following[Symbol.dispose]();
      siblings.delete(pair);
      if (siblings.size === 0 && joined.get(sandboxId) === siblings) joined.delete(sandboxId);
    });
  }

  // The daemon's answer to the handshake; undefined when the caller has left before it came.
  async function askUnlessGone({ socket, sandboxId, path, headers }: Joint): Promise<Upgraded | Refused | undefined> {
    const gone = new AbortController();
    const leave = () => gone.abort();
    // The end of what the caller sends does not close its connection, which we might still write to.
    for (const event of LEAVING) socket.once(event, leave);
    try {
      return await links.upgrade(sandboxId, { path, headers, signal: gone.signal });
    } catch (error) {
      if (!gone.signal.aborted) throw error;
      return undefined;
    } finally {
      for (const event of LEAVING) socket.off(event, leave);
    }
  }

  const everyone = () => [...joined.values()].flatMap((pairs) => [...pairs]);
  const pinging = clock.every(PING_MS, async () => {
    for (const pair of everyone()) pair.ping();
  });
  const checking = clock.every(CHECK_MS, async () => {
    for (const pair of everyone()) {
      // A database that does not answer is no reason to send people away.
      const allowed = await pair.isStillAllowed().catch(() => true);
      if (!allowed) pair.close(CLOSE.unauthorized, "access has ended");
    }
  });

  return {
    join,
    count: () => everyone().length,
    async [Symbol.asyncDispose]() {
      await pinging[Symbol.asyncDispose]();
      await checking[Symbol.asyncDispose]();
      for (const pair of everyone()) pair.close(CLOSE.serverRestarting, "the server is restarting");
    },
  };
}

// Why a caller has to leave, if it has to.
export function farewellFor(standing: Standing | null): { code: number; reason: string } | null {
  if (!standing || standing.session.status === "destroyed") return { code: CLOSE.sessionDestroyed, reason: "the session is destroyed" };
  if (standing.partner.state !== "active") return { code: CLOSE.unauthorized, reason: "access is suspended" };
  return standing.session.status === "paused" ? { code: CLOSE.sessionPaused, reason: "the session is paused" } : null;
}

// Completes the handshake only to say goodbye.
export function acceptAndClose(request: IncomingMessage, socket: Duplex, code: number, reason: string): void {
  socket.write(acceptance(request, undefined));
  hangUp(socket, closeFrame(code, reason));
}

export function isHandshake(request: IncomingMessage): boolean {
  const { upgrade, "sec-websocket-key": key, "sec-websocket-version": version } = request.headers;
  return request.method === "GET" && upgrade?.toLowerCase() === "websocket" && version === "13" && /^[A-Za-z0-9+/]{22}==$/.test(key ?? "");
}

interface Joined {
  ping(): void;
  close(code: number, reason: string): void;
}

function pass(caller: Duplex, callerHead: Buffer, daemon: Duplex, daemonHead: Buffer, clock: Pick<Clock, "now">): Joined {
  const frames = createFrameWalker();
  let heardAt = clock.now();
  let closed = false;

  const toCaller = (bytes: Buffer) => {
    markWork(TO_CALLER);
    frames.walk(bytes);
    if (!caller.write(bytes)) daemon.pause();
  };
  if (daemonHead.length > 0) toCaller(daemonHead);
  if (callerHead.length > 0) daemon.write(callerHead);
  daemon.on("data", toCaller);
  caller.on("drain", () => daemon.resume());
  caller.on("data", () => {
    markWork(TO_DAEMON);
    heardAt = clock.now();
  });
  caller.pipe(daemon);
  caller.on("error", () => caller.destroy());
  caller.once("close", () => daemon.destroy());
  daemon.once("close", () => {
    if (frames.closing) return hangUp(caller);
    // Gone without a goodbye. Most often a pause has begun, and the caller is told so when it is complete.
    setTimeout(() => close(1011, "the sandbox does not answer"), GRACE_MS).unref();
  });

  function close(code: number, reason: string): void {
    if (closed) return;
    closed = true;
    daemon.off("data", toCaller);
    // Before the end of the pipe stops the reading: the caller's own goodbye must still be read.
    caller.unpipe(daemon);
    daemon.destroy();
    // In the middle of a frame nothing can be said; the caller sees the connection cut.
    if (frames.closing) hangUp(caller);
    else if (frames.whole) hangUp(caller, closeFrame(code, reason));
    else caller.destroy();
  }

  return {
    ping() {
      if (clock.now() - heardAt > SILENCE_MS) caller.destroy();
      else if (!closed && frames.whole && !frames.closing) caller.write(pingFrame);
    },
    close,
  };
}

// Ends our side, reads what still comes so that the end of the other side is seen, and waits for it only so long.
function hangUp(caller: Duplex, lastWords?: Buffer): void {
  caller.on("error", () => caller.destroy());
  caller.end(lastWords);
  caller.resume();
  const timer = setTimeout(() => caller.destroy(), GOODBYE_MS);
  caller.once("close", () => clearTimeout(timer));
}

function refusalOf({ refused }: Refused): { code: number; reason: string } {
  return refused.status === 404 ? { code: CLOSE.terminalGone, reason: "not found" } : { code: 1011, reason: "the sandbox refused" };
}

// What the daemon says about the handshake is not passed on, but for a subprotocol that the caller has offered.
function acceptance(request: IncomingMessage, chosen: string | undefined): string {
  const accept = createHash("sha1").update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  const offered = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
  const protocol = chosen !== undefined && offered.includes(chosen) ? [`Sec-WebSocket-Protocol: ${chosen}`] : [];
  return [
    "HTTP/1.1 101 Switching Protocols",
    "Upgrade: websocket",
    "Connection: Upgrade",
    `Sec-WebSocket-Accept: ${accept}`,
    ...protocol,
    "",
    "",
  ].join("\r\n");
}
