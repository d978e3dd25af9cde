import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { AppError, isAppError, type ErrorBody, type ErrorCode } from "@berth/contract";
import type { Log } from "../../log.ts";

// The one place that turns errors into replies. The body is exactly `{error, details?}`; the code is in a header.

export function answerError(log: Log, thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = toAppError(thrown);
  if (error.status >= 500) {
    log.error("http.failed", { requestId: request.id, route: request.routeOptions.url, code: error.code, error: describe(thrown) });
  }
  // Fastify would close the connection after a body that is too large; a client that is still sending it would then see
  // a reset instead of the answer. Node reads the rest and throws it away.
  if (error.code === "body_too_large") reply.removeHeader("connection");
  if (error.code === "unauthorized") reply.header("www-authenticate", "Bearer");
  if (error.retryAfterSeconds !== undefined) reply.header("retry-after", error.retryAfterSeconds);
  return reply
    .code(error.status)
    .header("x-error-code", error.code)
    .header("cache-control", "no-store")
    .type("application/json; charset=utf-8")
    .send(JSON.stringify(errorBody(error)));
}

export const errorBody = (error: AppError): ErrorBody =>
  error.details ? { error: error.message, details: error.details } : { error: error.message };

export const bodyFault = (message: string): AppError => new AppError("validation_failed", { details: [{ field: "body", message }] });

const FASTIFY_CODES: Record<string, () => AppError> = {
  FST_ERR_CTP_BODY_TOO_LARGE: () => new AppError("body_too_large"),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => new AppError("unsupported_media_type"),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => bodyFault("Its length is not what Content-Length says"),
};

function toAppError(thrown: unknown): AppError {
  if (isAppError(thrown)) return thrown;
  const known = FASTIFY_CODES[(thrown as FastifyError | undefined)?.code ?? ""];
  if (known) return known();
  // The client went away in the middle of its body: nobody reads this answer.
  if ((thrown as { code?: string } | undefined)?.code === "ECONNRESET") return new AppError("bad_request", { cause: thrown });
  return new AppError("internal" satisfies ErrorCode, { cause: thrown });
}

function describe(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const cause = thrown.cause === undefined ? "" : ` <- ${describe(thrown.cause)}`;
  return `${thrown.stack ?? thrown.message}${cause}`;
}
