import type { Duplex } from "node:stream";
import { endSocket } from "../../bounded-io/end-socket.ts";
import type { Clock } from "../../clock.ts";
import { markWork } from "../../event-loop/loop-work.ts";
import { createReadSwitch } from "./read-switch.ts";
import { closeFrame, createFrameTracker, isPong, pingFrame } from "./websocket-frames.ts";

// A caller's WebSocket and a daemon's, connected after both handshakes.
export interface ConnectedSockets {
  // Sends a ping, or cuts the connection if the caller has been silent for too long.
  ping(): void;
  close(code: number, reason: string): void;
}

export interface ConnectOptions {
  caller: HandshakenSocket;
  daemon: HandshakenSocket;
  clock: Pick<Clock, "now">;
  silenceMs: number;
  // Counts bytes from the daemon; returns for how long to stop reading.
  countOutput: (bytes: number) => number;
  // Called for bytes from the caller, except answers to pings.
  onInput: () => void;
  // Why the daemon has disconnected, if it did so without a close frame.
  whyClosed: () => Promise<CloseReason>;
}

export interface CloseReason {
  code: number;
  reason: string;
}

interface HandshakenSocket {
  socket: Duplex;
  // The bytes that arrived together with the handshake.
  head: Buffer;
}

const TO_CALLER = { name: "gateway socket to caller" };
const TO_DAEMON = { name: "gateway socket to daemon" };
const PAUSE_GRACE_MS = 500;

export function connectSockets({
  caller: { socket: caller, head },
  daemon: fromDaemon,
  clock,
  silenceMs,
  countOutput,
  onInput,
  whyClosed,
}: ConnectOptions): ConnectedSockets {
  const daemon = fromDaemon.socket;
  const reading = createReadSwitch(daemon);
  const frames = createFrameTracker();
  let lastHeardAt = clock.now();
  let closed = false;

  const toCaller = (bytes: Buffer) => {
    markWork(TO_CALLER);
    frames.track(bytes);
    if (!caller.write(bytes)) reading.waitForDrain();
    reading.waitFor(countOutput(bytes.length));
  };
  if (fromDaemon.head.length > 0) toCaller(fromDaemon.head);
  if (head.length > 0) daemon.write(head);
  daemon.on("data", toCaller);
  caller.on("drain", () => reading.drained());
  caller.on("data", (bytes: Buffer) => {
    markWork(TO_DAEMON);
    lastHeardAt = clock.now();
    if (!isPong(bytes)) onInput();
  });
  caller.pipe(daemon);
  caller.on("error", () => caller.destroy());
  caller.once("close", () => daemon.destroy());
  daemon.once("close", () => {
    if (frames.closing) return endSocket(caller);
    // The daemon disconnected without a close frame, usually because a pause has begun. Wait for the pause to complete:
    // the session cache then closes the socket with the right code.
    setTimeout(() => void whyClosed().then(({ code, reason }) => close(code, reason)), PAUSE_GRACE_MS).unref();
  });

  function close(code: number, reason: string): void {
    if (closed) return;
    closed = true;
    daemon.off("data", toCaller);
    // Unpipe first: destroying the daemon's socket would otherwise stop the reads that see the caller's close frame.
    caller.unpipe(daemon);
    daemon.destroy();
    // A close frame cannot be inserted in the middle of another frame, so cut the connection instead.
    if (frames.closing) endSocket(caller);
    else if (frames.atBoundary) endSocket(caller, closeFrame(code, reason));
    else caller.destroy();
  }

  return {
    ping() {
      if (clock.now() - lastHeardAt > silenceMs) caller.destroy();
      else if (!closed && frames.atBoundary && !frames.closing) caller.write(pingFrame);
    },
    close,
  };
}
