import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { AppError, isAppError } from "@berth/contract";
import { toErrorReply } from "../../error-reply.ts";
import type { Log } from "../../log.ts";
import { spanOf } from "../../tracing/span.ts";
import { traceFields } from "../../tracing/trace-context.ts";
import { bodyFault } from "./field-faults.ts";

// Turns errors of the partner API into replies.
export function replyWithError(log: Log, thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = toAppError(thrown);
  if (error.status >= 500) logFailure(log, thrown, request);
  // Fastify would close the connection after a body that is too large, and a client that is still sending would see a reset
  // instead of the reply. Node reads and discards the rest of the body.
  if (error.code === "body_too_large") reply.removeHeader("connection");
  const { status, headers, body } = toErrorReply(error);
  return reply.code(status).headers(headers).send(body);
}

export function logFailure(log: Log, thrown: unknown, { id: requestId, routeOptions, raw }: FastifyRequest): void {
  const { code } = toAppError(thrown);
  log.error("http.failed", { requestId, route: routeOptions.url, code, error: describe(thrown), ...traceFields(spanOf(raw)) });
}

const FASTIFY_CODES: Record<string, () => AppError> = {
  FST_ERR_CTP_BODY_TOO_LARGE: () => new AppError("body_too_large"),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => new AppError("unsupported_media_type"),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => bodyFault("Its length does not match Content-Length"),
};

export function toAppError(thrown: unknown): AppError {
  if (isAppError(thrown)) return thrown;
  const { code = "" } = (thrown ?? {}) as Partial<FastifyError>;
  const known = FASTIFY_CODES[code];
  if (known) return known();
  // The client disconnected while sending its body, so it does not see this reply.
  if (code === "ECONNRESET") return new AppError("bad_request", { cause: thrown });
  return new AppError("internal", { cause: thrown });
}

function describe(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const cause = thrown.cause === undefined ? "" : ` <- ${describe(thrown.cause)}`;
  return `${thrown.stack ?? thrown.message}${cause}`;
}
