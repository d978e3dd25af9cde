import type { FastifyRequest } from "fastify";
import Type from "typebox";
import { AppError, includesScope, isAppError, type FieldFault } from "@berth/contract";
import type { Server, ServerContext } from "@modelcontextprotocol/server";
import { compileFaultFinder } from "../../http/requests/schema-faults.ts";
import { requireNoFaults } from "../../http/requests/field-faults.ts";
import { logFailure } from "../../http/requests/fastify-errors.ts";
import type { JsonObject } from "../../http/requests/request-body.ts";
import type { Principal } from "../../http/limits/authentication.ts";
import type { Log } from "../../log.ts";
import { errorResult, type ToolResult } from "./results.ts";
import type { Tool, ToolCall } from "./tool.ts";

const INSTRUCTIONS =
  "Berth runs coding sessions. A session is an isolated Linux sandbox with a workspace folder. Create one with session_create, then use exec, process_start and the file tools with its sessionId. A paused session keeps its files. Errors begin with a code, such as session_paused.";
const TTL_MS = 300_000;

interface KnownTool extends Tool {
  // As clients get it, for keys and for session tokens.
  listed: { key: object; token: object };
  findFaults: (input: JsonObject) => FieldFault[];
}

// Serves the tools to one request at a time.
export interface ToolServer {
  // Adds the handlers for this request to a server of the library.
  serve(server: Server, request: FastifyRequest): void;
}

export function createToolServer(tools: readonly Tool[], log: Log): ToolServer {
  const known = tools.map(toKnown);

  async function run(tool: KnownTool, given: JsonObject, call: ToolCall): Promise<ToolResult> {
    const { principal } = call.request;
    try {
      if (!mayCall(principal, tool)) throw new AppError("insufficient_scope");
      const input = withSession(tool, given, principal);
      requireNoFaults(tool.findFaults(input));
      return await tool.call(input as never, call);
    } catch (error) {
      // The caller of a cancelled call does not wait for its result.
      if (!call.signal.aborted && (!isAppError(error) || error.status >= 500)) logFailure(log, error, call.request);
      return errorResult(error);
    }
  }

  return {
    serve(server, request) {
      server.setRequestHandler("tools/list", () => {
        const { principal } = request;
        const kind = principal.token ? "token" : "key";
        return { tools: known.filter((tool) => mayCall(principal, tool)).map(({ listed }) => listed[kind]) as never[] };
      });
      server.setRequestHandler("tools/call", async ({ params }, ctx) => {
        const tool = known.find(({ name }) => name === params.name);
        if (!tool) throw Object.assign(new Error("There is no such tool"), { code: INVALID_PARAMS });
        const call = { request, signal: ctx.mcpReq.signal, progress: createProgress(ctx) };
        return (await run(tool, params.arguments ?? {}, call)) as never;
      });
    },
  };
}

export const SERVER_OPTIONS = {
  capabilities: { tools: {} },
  instructions: INSTRUCTIONS,
  cacheHints: { "tools/list": { ttlMs: TTL_MS, cacheScope: "private" as const } },
};

const INVALID_PARAMS = -32602;

function mayCall({ scope, token }: Principal, tool: Tool): boolean {
  if (!token) return includesScope(scope, tool.scope);
  // A token for some ports may call the tool, which asks about the port.
  return token.allows(tool.tokenScope) || (tool.tokenScope === "ports" && token.hasPorts);
}

// A token is for one session, which need not be named.
function withSession({ input }: Tool, given: JsonObject, { token }: Principal): JsonObject {
  const only = token?.only?.sessionId;
  if (only === undefined || !("sessionId" in input.properties)) return given;
  const { sessionId = only } = given;
  if (sessionId !== only) throw new AppError("session_not_found");
  return { ...given, sessionId };
}

function toKnown(tool: Tool): KnownTool {
  const { name, title, description, input, hints = {} } = tool;
  const annotations = {
    title,
    readOnlyHint: hints.reads ?? false,
    destructiveHint: hints.destroys ?? false,
    idempotentHint: hints.reads ?? hints.idempotent ?? false,
    openWorldHint: false,
  };
  const listedWith = (inputSchema: object) => ({ name, title, description, inputSchema: withoutIds(inputSchema), annotations });
  const { sessionId, ...others } = input.properties;
  const forTokens = sessionId === undefined ? input : Type.Object({ sessionId: Type.Optional(sessionId), ...others });
  return { ...tool, listed: { key: listedWith(input), token: listedWith(forTokens) }, findFaults: compileFaultFinder(input) };
}

// The names of schemas are those of the OpenAPI description. A client that compiles two schemas with one name refuses them.
const withoutIds = (schema: object): object =>
  JSON.parse(JSON.stringify(schema, (key, value: unknown) => (key === "$id" ? undefined : value))) as object;

function createProgress({ mcpReq }: ServerContext): (message: string) => void {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => {};
  let progress = 0;
  return (message) =>
    void mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress: ++progress, message } }).catch(() => {});
}
