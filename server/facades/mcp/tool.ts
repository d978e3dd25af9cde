import type { FastifyRequest } from "fastify";
import type { TObject } from "typebox";
import type { CallScope, KeyScope } from "@berth/contract";
import type { JsonObject } from "../../http/requests/request-body.ts";
import type { ToolResult } from "./results.ts";

// A tool of the MCP server: one call of Berth's services.
export interface Tool {
  name: string;
  title: string;
  // For the model that decides whether to call it.
  description: string;
  input: TObject;
  // Keys with this scope may call it, and session tokens with that one.
  scope: KeyScope;
  tokenScope: CallScope;
  hints?: { reads?: true; destroys?: true; idempotent?: true };
  // `input` is valid.
  call(input: never, call: ToolCall): Promise<ToolResult>;
}

export interface ToolCall {
  // The request that carries the call, for the partner, the audit log and the trace.
  request: FastifyRequest;
  // Aborted when the caller cancels the call or disconnects.
  signal: AbortSignal;
  // Says that the call still works, to callers that want to know.
  progress(message: string): void;
}

// Every tool that works in a session has this field. With a session token it may be absent.
export interface InSession {
  sessionId: string;
}

// The arguments of a call as text, for idempotency.
export const textOf = (input: JsonObject): string => JSON.stringify(input);
