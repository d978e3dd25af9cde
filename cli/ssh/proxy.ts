import type { IncomingMessage } from "node:http";
import { pipeline } from "node:stream/promises";
import { createWebSocketStream, WebSocket } from "ws";
import { CLOSE } from "@berth/contract/daemon.ts";
import { escapeControls } from "../terminal/escape-controls.ts";
import type { SshAccess } from "./access.ts";

// A session may be resumed first.
const WAKE_MS = 150_000;
const HANDSHAKE_MS = 30_000;
const MAX_REFUSAL_BYTES = 4096;

// The host key of the session's sandbox, as in a known_hosts file. Resumes a paused session that may be resumed so.
export async function readHostKey({ sandboxUrl, bearer }: SshAccess): Promise<string> {
  const response = await fetch(`${sandboxUrl}/ssh`, {
    headers: { authorization: `Bearer ${bearer}` },
    signal: AbortSignal.timeout(WAKE_MS),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(refusalOf(response.status, response.headers.get("x-error-code"), text));
  const { hostKey } = parse(text);
  if (typeof hostKey !== "string" || !/^ssh-ed25519 [A-Za-z0-9+/=]{60,100}$/.test(hostKey))
    throw new Error("The sandbox sent no host key.");
  return hostKey;
}

// Connects the input and output of this process with the SSH server in the sandbox, until one of them ends. The sentence says why it
// ended, if that was not by the client.
export async function relay({ sandboxUrl, bearer }: SshAccess): Promise<string | null> {
  const socket = new WebSocket(`${sandboxUrl.replace(/^http/, "ws")}/ssh`, {
    headers: { authorization: `Bearer ${bearer}` },
    handshakeTimeout: HANDSHAKE_MS,
    perMessageDeflate: false,
    // A mask protects old proxies from what a page in a browser sends, and costs the daemon most of its time.
    generateMask: (mask) => void mask.fill(0),
  });
  const opened = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<string | null>();
  socket.once("open", opened.resolve);
  socket.once("unexpected-response", (_request, response: IncomingMessage) => void readRefusal(response).then(opened.reject));
  socket.once("error", opened.reject);
  socket.once("close", (code) => closed.resolve(REASONS[code] ?? null));
  const stream = createWebSocketStream(socket);
  stream.on("error", () => {});
  await opened.promise;
  await Promise.race([pipeline(process.stdin, stream), pipeline(stream, process.stdout, { end: false }), closed.promise]).catch(() => {});
  socket.close();
  // ssh waits for the end of this process, which would wait for more input.
  process.stdin.destroy();
  return closed.promise;
}

const REASONS: Record<number, string> = {
  [CLOSE.sessionPaused]: "The session was paused. Connect again when it is resumed; with autoResume, connecting resumes it.",
  [CLOSE.sessionDestroyed]: "The session was destroyed.",
  [CLOSE.unauthorized]: "The access has ended: the token or the key has expired or was revoked.",
  [CLOSE.serverRestarting]: "The server is restarting. Connect again in a moment.",
  1006: "The connection to the server was lost.",
  1011: "The sandbox does not answer. Connect again in a moment.",
};

async function readRefusal(response: IncomingMessage): Promise<Error> {
  let text = "";
  for await (const chunk of response) {
    text += String(chunk);
    if (text.length > MAX_REFUSAL_BYTES) break;
  }
  return new Error(refusalOf(response.statusCode ?? 0, response.headers["x-error-code"], text));
}

function parse(text: string): { hostKey?: unknown; error?: unknown; code?: unknown } {
  try {
    return (JSON.parse(text) ?? {}) as object;
  } catch {
    return {};
  }
}

const HINTS: Record<string, string> = {
  session_paused: " With autoResume: true, connections resume it.",
  insufficient_scope: " The token needs the scope ssh.",
  not_found: " The sandbox is older than the server. A fork of the session has SSH: `berth session fork`.",
};

function refusalOf(status: number, header: unknown, text: string): string {
  const { error, code } = parse(text);
  if (typeof error !== "string") return `The server answered ${status}.`;
  return `The server answered ${status}: ${escapeControls(error)}.${HINTS[String(header ?? code)] ?? ""}`;
}
