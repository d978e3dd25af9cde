import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { limitInterimAnswers } from "@berth/contract/forwarding/forwarding.ts";
import { readResponseText } from "./link-errors.ts";

export interface Upgraded {
  socket: Duplex;
  // The bytes that the daemon sent right after its response.
  head: Buffer;
  headers: IncomingHttpHeaders;
}

export interface Refused {
  refused: { status: number; headers: IncomingHttpHeaders; body: string };
}

export const MAX_HEADER_BYTES = 16 * 1024;

// Asks the daemon to switch a new connection to another protocol.
export function upgradeSocket(
  socket: Socket,
  path: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<Upgraded | Refused> {
  const { promise, resolve, reject } = Promise.withResolvers<Upgraded | Refused>();
  const request = httpRequest({ createConnection: () => socket, host: "sandbox", path, headers, maxHeaderSize: MAX_HEADER_BYTES });
  const abort = () => request.destroy(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  request.on(
    "information",
    limitInterimAnswers((reason) => request.destroy(reason)),
  );
  request.on("upgrade", (response, upgraded, head) => resolve({ socket: upgraded, head, headers: response.headers }));
  request.on("response", (response: IncomingMessage) => {
    void readResponseText(response)
      .then((body) => resolve({ refused: { status: refusalStatus(response), headers: response.headers, body } }), reject)
      .finally(() => socket.destroy());
  });
  request.on("error", reject);
  if (signal.aborted) abort();
  else request.end();
  return promise.finally(() => signal.removeEventListener("abort", abort));
}

// Destroys the socket when the signal aborts.
export function closeWith(socket: Duplex, signal: AbortSignal): void {
  socket.on("error", () => {});
  const close = () => socket.destroy();
  signal.addEventListener("abort", close, { once: true });
  socket.once("close", () => signal.removeEventListener("abort", close));
}

// The caller receives this status, so it must be that of an error.
function refusalStatus({ statusCode = 0 }: IncomingMessage): number {
  return statusCode >= 400 && statusCode <= 599 ? statusCode : 502;
}
