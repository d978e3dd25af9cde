import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { AppError, isAppError, isSandboxId, type SandboxId } from "@berth/contract";
import { discardUnreadBody } from "@berth/contract/forwarding/forwarding.ts";
import type { Clock } from "../../../clock.ts";
import type { Facade, GatewayParts } from "../../../gateway/facade.ts";
import { notRunningError } from "../../../gateway/access/session-cache.ts";
import { wake } from "../../../gateway/access/wake.ts";
import { headerOf, splitUrl } from "../../../gateway/requests/request-parts.ts";
import { describeError } from "../../../faults/describe-error.ts";
import type { Log } from "../../../log.ts";
import type { SessionView } from "../../../sessions/sessions.ts";
import type { Access, SignedUrl } from "../access.ts";
import { toE2bError, unsupported } from "../errors.ts";
import { endStream, readEnveloped, readUnary, sendJson, sendUnary, sendUnaryError, type Json } from "./connect.ts";
import { createDaemonCalls, type DaemonCalls } from "../../daemon-calls.ts";
import { receiveFiles, sendFile } from "./file-transfer.ts";
import { FILESYSTEM_CALLS, watchDir } from "./filesystem-calls.ts";
import { connectProcess, PROCESS_CALLS, startProcess, type StreamCall } from "./process-calls.ts";
import type { SignerSearch } from "./signer-search.ts";

// The calls that E2B's SDKs send to the daemon of a sandbox (`envd`): below ENVD_PATH, on the sandbox's own host, and for signed URLs of
// files, which lose every prefix, at `/files`.
export interface EnvdDeps {
  access: Access;
  signers: SignerSearch;
  clock: Clock;
  log: Log;
}

export const ENVD_PATH = "/e2b/envd";
// The port of E2B's daemon, which names it in hosts.
const ENVD_PORT = 49983;
const KEEP_ALIVE_MS = { fallback: 90_000, least: 1_000 };
const USERS = new Set(["", "user"]);

const UNARY: Record<string, (body: Json, calls: DaemonCalls) => Promise<object>> = {
  ...prefixed("/process.Process/", PROCESS_CALLS),
  ...prefixed("/filesystem.Filesystem/", FILESYSTEM_CALLS),
};
const STREAMS: Record<string, (body: Json, call: StreamCall) => Promise<void>> = {
  "/process.Process/Start": startProcess,
  "/process.Process/Connect": connectProcess,
  "/filesystem.Filesystem/WatchDir": watchDir,
};

export function createEnvd({ access, signers, clock, log }: EnvdDeps, parts: GatewayParts): Facade {
  const { sessionCache, sessions, links, activity, outputLimit, parseHost, addressOf } = parts;

  // The path of E2B's daemon that the request is for; null if it is for something else.
  function pathOf(request: IncomingMessage): string | null {
    const { path, query } = splitUrl(request);
    if (path.startsWith(`${ENVD_PATH}/`)) return path.slice(ENVD_PATH.length);
    const target = parseHost(request.headers.host);
    if (target) return target.port === ENVD_PORT ? path : null;
    return path === "/files" && /(^|&)signature=/.test(query) ? path : null;
  }

  // Which sandbox the request is for. Throws unless it carries the sandbox's token, or a signature that was made with it.
  async function authorize(request: IncomingMessage, path: string): Promise<SandboxId> {
    const named = parseHost(request.headers.host)?.sandboxId ?? headerOf(request, "e2b-sandbox-id");
    const token = headerOf(request, "x-access-token");
    const signed = path === "/files" && token === undefined ? signedUrlOf(request) : null;
    if (signed) {
      if (Number(signed.expiration ?? Infinity) * 1000 < clock.now()) throw unauthorized("signature is already expired");
      const sandboxId = named === undefined ? await signers.find(signed, addressOf(request)) : isSigner(named, signed) ? named : null;
      if (!sandboxId) throw unauthorized("invalid signature");
      return sandboxId;
    }
    if (named === undefined || !isSandboxId(named)) throw new SandboxMissing(named ?? "");
    if (token === undefined || !access.accepts("access", named, token)) throw unauthorized("missing or invalid access token");
    return named;
  }

  const isSigner = (id: string, signed: SignedUrl): id is SandboxId => isSandboxId(id) && access.hasSigned(id, signed);

  async function requireRunning(sandboxId: SandboxId, { wakes }: { wakes: boolean }): Promise<SessionView> {
    const cached = await sessionCache.get(sandboxId);
    if (!cached || cached.partner.state !== "active") throw new SandboxMissing(sandboxId);
    const now = wakes ? await wake(sessions, cached) : cached;
    if (notRunningError(now)) throw new SandboxMissing(sandboxId);
    return now.session;
  }

  async function handle(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const sandboxId = await authorize(request, path);
    const session = await requireRunning(sandboxId, { wakes: path !== "/health" });
    requireUser(request);
    const gone = new AbortController();
    response.once("close", () => (response.writableFinished && request.complete) || gone.abort(new AppError("aborted")));
    if (path === "/health") return void response.writeHead(204).end();
    const use = activity.begin(session);
    response.once("close", () => use[Symbol.dispose]());
    const calls = createDaemonCalls(links, sandboxId, gone.signal);
    const method = request.method ?? "";
    if (path === "/files") return transfer(calls, request, response);
    if (path === "/envs" && method === "GET") return sendJson(response, 200, {});
    const [unary, stream] = [UNARY[path], STREAMS[path]];
    if (method !== "POST" || (!unary && !stream)) throw unsupported(`${method} ${path.slice(0, 100)}`);
    if (unary) return sendUnary(response, await unary(await readUnary(request), calls));
    const wait = async (bytes: number) => {
      const waitMs = outputLimit.count(sandboxId, bytes);
      if (waitMs > 0) await delay(waitMs);
    };
    await stream!(await readEnveloped(request), {
      calls,
      response,
      timeoutMs: numberOf(request, "connect-timeout-ms"),
      keepAliveMs: Math.max(KEEP_ALIVE_MS.least, (numberOf(request, "keepalive-ping-interval") ?? 0) * 1000 || KEEP_ALIVE_MS.fallback),
      admitBytes: wait,
    });
  }

  function transfer(calls: DaemonCalls, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URLSearchParams(splitUrl(request).query).get("path");
    if (request.method === "POST") return receiveFiles(calls, path, request, response);
    if (request.method !== "GET") throw new AppError("method_not_allowed");
    if (!path) throw new AppError("bad_request", { message: "path is required" });
    return sendFile(calls, path, request, response);
  }

  return {
    owns: (request) => pathOf(request) !== null,
    async request(request, response) {
      const path = pathOf(request) ?? "";
      try {
        await handle(request, response, path);
      } catch (error) {
        // Without the query, which has the signature.
        if (!isAppError(error) && !(error instanceof SandboxMissing)) log.error("e2b.failed", { path, error: describeError(error) });
        replyWithError(error, path, response);
      } finally {
        discardUnreadBody(request);
      }
    },
    async upgrade() {
      throw new AppError("not_found");
    },
  };
}

// E2B's proxy answers so for a sandbox that does not run, and SDKs look for it.
class SandboxMissing extends Error {
  readonly sandboxId: string;

  constructor(sandboxId: string) {
    super("The sandbox was not found");
    this.sandboxId = sandboxId;
  }
}

function replyWithError(error: unknown, path: string, response: ServerResponse): void {
  if (response.headersSent) return void response.destroy();
  if (error instanceof SandboxMissing) return sendJson(response, 502, missingBody(error.sandboxId));
  if (STREAMS[path]) return endStream(response, { error });
  if (UNARY[path]) return sendUnaryError(response, error);
  const body = toE2bError(error);
  sendJson(response, body.code, body);
}

export const missingBody = (sandboxId: string) => ({ sandboxId, message: "The sandbox was not found", code: 502 });

const unauthorized = (message: string) => new AppError("unauthorized", { message });

// All programs run as the one user of the sandbox.
function requireUser(request: IncomingMessage): void {
  const basic = /^basic (.+)$/i.exec(headerOf(request, "authorization") ?? "")?.[1];
  const named = basic === undefined ? "" : (Buffer.from(basic, "base64").toString().split(":", 1)[0] ?? "");
  const other = [named, new URLSearchParams(splitUrl(request).query).get("username") ?? ""].find((user) => !USERS.has(user));
  if (other !== undefined) throw unsupported(`The user ${other.slice(0, 32)}`);
}

function signedUrlOf(request: IncomingMessage): SignedUrl | null {
  const query = new URLSearchParams(splitUrl(request).query);
  const signature = query.get("signature");
  if (signature === null) return null;
  return {
    path: query.get("path") ?? "",
    user: query.get("username") ?? "",
    expiration: query.get("signature_expiration"),
    operation: request.method === "POST" ? "write" : "read",
    signature,
  };
}

function numberOf(request: IncomingMessage, header: string): number | null {
  const value = Number(headerOf(request, header) ?? NaN);
  return Number.isSafeInteger(value) && value > 0 ? value : null;
}

function prefixed<Value>(prefix: string, table: Record<string, Value>): Record<string, Value> {
  return Object.fromEntries(Object.entries(table).map(([name, value]) => [prefix + name, value]));
}
