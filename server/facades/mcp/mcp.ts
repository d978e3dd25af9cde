import { randomUUID } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "@berth/contract";
import { VERSION } from "@berth/contract/version.ts";
import type { McpHttpHandler } from "@modelcontextprotocol/server";
import { createFairShare } from "../../fairness/fair-share.ts";
import { describeError } from "../../faults/describe-error.ts";
import type { GatewayParts } from "../../gateway/facade.ts";
import type { Log } from "../../log.ts";
import { createInFlight } from "./in-flight.ts";
import { createInSandbox } from "./in-sandbox.ts";
import { createOriginCheck } from "./origin.ts";
import { createToolServer, SERVER_OPTIONS } from "./tool-server.ts";
import { createExecTool } from "./tools/exec-tool.ts";
import { createFileTools } from "./tools/file-tools.ts";
import { createPreviewTool, type PreviewToolDeps } from "./tools/preview-tool.ts";
import { createProcessTools } from "./tools/process-tools.ts";
import { createRunTools, type RunToolDeps } from "./tools/run-tools.ts";
import { createSessionTools, type SessionToolDeps } from "./tools/session-tools.ts";

// `POST /mcp`: sessions as tools of the Model Context Protocol, for agents and editors outside. It translates calls and stores nothing. Keys,
// tokens, rate limits, logs and audit entries are those of the partner API.
export type McpDeps = SessionToolDeps & RunToolDeps & PreviewToolDeps & { parts: GatewayParts; baseUrl: string; log: Log };

export const MCP_PATH = "/mcp";
// Requests that are open at once, of all partners and of one.
const MAX_OPEN = { total: 1024, maxPerHolder: 128 };
const SESSION_HEADER = "mcp-session-id";

export function addMcp(app: FastifyInstance, deps: McpDeps): void {
  const { log } = deps;
  const inSandbox = createInSandbox(deps.sessions, deps.parts);
  const tools = createToolServer(
    [
      ...createSessionTools(deps),
      createExecTool(inSandbox),
      ...createProcessTools(inSandbox),
      ...createFileTools(inSandbox),
      createPreviewTool(deps),
      ...createRunTools(deps),
    ],
    log,
  );
  const requireOwnOrigin = createOriginCheck(deps.baseUrl);
  const inFlight = createInFlight();
  const slots = createFairShare<string>(MAX_OPEN);
  const closing = new AbortController();
  app.addHook("preClose", async () => closing.abort());

  // The library takes half a second to load, so a server without MCP clients does without it.
  let loading: Promise<McpHttpHandler["fetch"]> | undefined;
  const load = () => (loading ??= openHandler());
  async function openHandler(): Promise<McpHttpHandler["fetch"]> {
    const { createMcpHandler, Server } = await import("@modelcontextprotocol/server");
    const onerror = (error: Error) => log.debug("mcp.refused", { error: describeError(error) });
    const handler = createMcpHandler(
      ({ authInfo }) => {
        const server = new Server({ name: "berth", title: "Berth", version: VERSION }, SERVER_OPTIONS);
        tools.serve(server, authInfo!.extra!["request"] as FastifyRequest);
        return server;
      },
      { onerror, maxSubscriptions: MAX_OPEN.total },
    );
    return handler.fetch.bind(handler);
  }

  async function handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    requireOwnOrigin(request);
    const message = parseMessage(request.rawBody);
    const client = clientOf(request);
    const slot = slots.take(request.principal.partner.id);
    if (!slot) throw new AppError("rate_limited", { message: "Too many calls at once; wait until some of them have ended" });
    if (message.method === CANCELLED) inFlight.cancel(client, message.params?.requestId);
    const stop = new AbortController();
    const call = inFlight.add(client, message.id, stop);
    deps.parts.endWithAccess(request.raw, reply.raw);
    // After the response, or when the caller disconnects.
    reply.raw.once("close", () => {
      slot[Symbol.dispose]();
      call[Symbol.dispose]();
      stop.abort();
    });
    const signal = AbortSignal.any([stop.signal, closing.signal]);
    const body = new Uint8Array(request.rawBody ?? []);
    const asked = new Request(`${deps.baseUrl}${MCP_PATH}`, { method: "POST", headers: headersOf(request), body, signal });
    // The library does not look at the token: the caller is known already.
    const authInfo = { token: "", clientId: request.principal.keyId, scopes: [], extra: { request } };
    const answer = await load();
    const answered = await answer(asked, { authInfo });
    // The older revisions cancel a call with another request. The id, which is not stored, tells clients with the same key apart.
    if (message.method === "initialize" && answered.ok) reply.header(SESSION_HEADER, randomUUID());
    return reply.header("x-accel-buffering", "no").send(answered);
  }

  app.route({ method: "POST", url: MCP_PATH, config: { scope: "read", tokenScope: "any" }, handler: handle });
}

const CANCELLED = "notifications/cancelled";

interface Message {
  id?: unknown;
  method?: unknown;
  params?: { requestId?: unknown };
}

// The library answers what is not a message.
function parseMessage(bytes: Buffer | null): Message {
  let message: unknown;
  try {
    message = JSON.parse(String(bytes));
  } catch {
    return {};
  }
  // One request would be many calls, for which the rate limit counts one. Only one old revision has batches, and no known client uses them.
  if (Array.isArray(message)) throw new AppError("bad_request", { message: "Send each message in a request of its own, not in a batch" });
  return typeof message === "object" && message !== null ? message : {};
}

const clientOf = ({ principal, headers }: FastifyRequest): string => `${principal.keyId} ${String(headers[SESSION_HEADER] ?? "")}`;

function headersOf({ headers, bodyType }: FastifyRequest): Headers {
  const named = Object.entries({ ...headers, "content-type": bodyType });
  const given = named.flatMap(([name, value]) =>
    typeof value === "string" && !SECRET.has(name) ? [[name, value] as [string, string]] : [],
  );
  return new Headers(given);
}

// The library needs no credentials.
const SECRET = new Set(["authorization", "x-api-key", "cookie"]);
