import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { MAX_HELLO_BYTES, readClientHello } from "../policy/client-hello.ts";
import type { Target } from "../policy/target.ts";

// The bytes that the sandbox has sent so far, to be passed on, or the reason why the tunnel ends.
export type CheckedTunnel = { sent: Buffer[] } | { reason: string; isTls: boolean };

// On these ports nothing but TLS is expected.
const TLS_PORTS: ReadonlySet<number> = new Set([443, 8443]);

// A policy with hosts counts on the name in CONNECT. In a tunnel with TLS, the name that the sandbox asks the server for (SNI) must be
// the same: behind one address there are often many hosts, and the server, not the address, decides which of them answers.
//
// Looks at the first bytes that the sandbox sends, whenever that is, because in some protocols the server speaks first. `timeoutMs`
// counts from the first of them. Calls back once, and not at all if the socket closes before; the socket is not read after that. A callback and not a promise: the
// next reader must be attached before the socket emits again.
export function checkTunnel(
  inner: Duplex,
  target: Target,
  { head, timeoutMs }: { head: Buffer; timeoutMs: number },
  done: (outcome: CheckedTunnel) => void,
): void {
  const chunks: Buffer[] = [];
  let received = 0;
  let needed = 1;
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;

  const late = () => finish({ reason: "the tunnel began with an incomplete TLS message", isTls: true });
  const onEnd = () => (received === 0 ? finish({ sent: [] }) : late());
  const onClose = () => stop();

  function onData(chunk: Buffer): void {
    timer ??= setTimeout(late, timeoutMs);
    chunks.push(chunk);
    received += chunk.length;
    if (received < needed) return;
    const bytes = chunks.length === 1 ? chunk : Buffer.concat(chunks);
    chunks.splice(0, Infinity, bytes);
    const hello = readClientHello(bytes.subarray(0, MAX_HELLO_BYTES));
    if (hello.is === "incomplete") return void (needed = hello.bytes);
    const reason = refuseHello(hello, target);
    finish(reason === undefined ? { sent: chunks } : { reason, isTls: hello.is !== "other" });
  }

  function stop(): void {
    isOver = true;
    clearTimeout(timer);
    inner.off("data", onData).off("end", onEnd).off("close", onClose);
  }

  function finish(outcome: CheckedTunnel): void {
    stop();
    inner.pause();
    done(outcome);
  }

  inner.on("data", onData).on("end", onEnd).on("close", onClose);
  if (head.length > 0) onData(head);
  // It may have ended while the connection to the outside was made.
  if (!isOver && inner.readableEnded) onEnd();
}

function refuseHello(hello: Exclude<ReturnType<typeof readClientHello>, { is: "incomplete" }>, { host, port }: Target): string | undefined {
  if (hello.is === "other") return TLS_PORTS.has(port) ? `port ${port} is allowed only for TLS` : undefined;
  if (hello.is === "invalid") return "the tunnel began with a malformed TLS message";
  const { serverName } = hello;
  // Clients name no address.
  if (serverName === null) return isIP(host) ? undefined : `the TLS connection names no server, and the tunnel is for ${host}`;
  return serverName === host ? undefined : `the TLS connection is for ${serverName}, and the tunnel for ${host}`;
}

// A fatal alert, `unrecognized_name`, so that clients say why they fail.
export const TLS_ALERT = Buffer.from([21, 3, 3, 0, 2, 2, 112]);
