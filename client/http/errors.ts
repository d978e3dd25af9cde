import type { FieldFault } from "../types/api-types.ts";

// Every error is a BerthError. Use the subclasses with `instanceof`, and `code` for finer distinctions. The message is for
// people and may change.
export interface ErrorFacts {
  // A stable code such as `session_already_paused`.
  code: string;
  // The HTTP status; undefined if there was no response.
  status?: number;
  // Include it when you ask the operator for help.
  requestId?: string;
  details?: FieldFault[];
  retryAfterMs?: number;
  cause?: unknown;
}

export class BerthError extends Error {
  readonly code: string;
  readonly status?: number;
  readonly requestId?: string;
  readonly details?: FieldFault[];
  readonly retryAfterMs?: number;

  constructor(message: string, facts: ErrorFacts) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = new.target.name;
    this.code = facts.code;
    this.status = facts.status;
    this.requestId = facts.requestId;
    this.details = facts.details;
    this.retryAfterMs = facts.retryAfterMs;
  }
}

// The request is invalid; `details` names the fields.
export class ValidationError extends BerthError {}
// The key is missing, unknown, expired or revoked.
export class UnauthorizedError extends BerthError {}
export class NotFoundError extends BerthError {}
// The session does not exist, or is destroyed.
export class SessionNotFoundError extends NotFoundError {}
export class FileNotFoundError extends NotFoundError {}
// The session's state does not allow the call: it is already paused, already running, or busy.
export class SessionConflictError extends BerthError {}
// The limit of live sessions is reached.
export class QuotaError extends SessionConflictError {}
// The file already exists, or has changed since it was read.
export class FileConflictError extends BerthError {}
export class RateLimitError extends BerthError {}
// The service failed.
export class ServerError extends BerthError {}
// The service could not be reached, or the connection broke.
export class ConnectionError extends BerthError {}
export class TimeoutError extends ConnectionError {}
// The service did not send this webhook.
export class WebhookVerificationError extends BerthError {}

const BY_CODE: Record<string, typeof BerthError> = {
  session_not_found: SessionNotFoundError,
  session_quota: QuotaError,
  session_already_paused: SessionConflictError,
  session_already_running: SessionConflictError,
  session_paused: SessionConflictError,
  session_busy: SessionConflictError,
};

// The codes of the daemon in the sandbox.
const BY_SANDBOX_CODE: Record<string, typeof BerthError> = {
  not_found: FileNotFoundError,
  exists: FileConflictError,
  changed: FileConflictError,
  agent_busy: SessionConflictError,
};

const BY_STATUS: Record<number, typeof BerthError> = {
  400: ValidationError,
  401: UnauthorizedError,
  404: NotFoundError,
  409: SessionConflictError,
  429: RateLimitError,
};

// The API sends its code only in a header; the sandbox repeats it in the body.
export async function errorFrom(response: Response): Promise<BerthError> {
  const text = await response.text().catch(() => "");
  const body = parse(text);
  const code = body.code ?? response.headers.get("x-error-code") ?? `http_${response.status}`;
  const known = (body.code === undefined ? BY_CODE : BY_SANDBOX_CODE)[code];
  const Kind = known ?? BY_STATUS[response.status] ?? (response.status >= 500 ? ServerError : BerthError);
  return new Kind(messageOf(body, response.status), {
    code,
    status: response.status,
    requestId: response.headers.get("x-request-id") ?? undefined,
    details: body.details,
    retryAfterMs: retryAfterOf(response.headers),
  });
}

function messageOf({ error, details }: ErrorBody, status: number): string {
  const faults = details?.map(({ field, message }) => `${field}: ${message}`).join("; ");
  return faults ? `${error ?? "Validation failed"} (${faults})` : (error ?? `The service responded with status ${status}`);
}

// The header has seconds or a date.
function retryAfterOf(headers: Headers): number | undefined {
  const text = headers.get("retry-after");
  if (!text) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

interface ErrorBody {
  error?: string;
  code?: string;
  details?: FieldFault[];
}

function parse(text: string): ErrorBody {
  try {
    const body = JSON.parse(text) as unknown;
    return typeof body === "object" && body !== null ? body : {};
  } catch {
    return {};
  }
}
