// Every error that the API, or the daemon in a sandbox, answers with. `message` is the default sentence for the caller; a
// particular case can replace it through `AppErrorOptions.message`. A new error is one line here and one row in
// docs/errors.md; a test demands both. `retryAfterSeconds` is the default of the `Retry-After` header.
export const ERRORS = {
  validation_failed: { status: 400, retryable: false, message: "Validation failed" },
  bad_request: { status: 400, retryable: false, message: "The request is not valid HTTP" },
  unauthorized: { status: 401, retryable: false, message: "Unauthorized" },
  insufficient_scope: { status: 403, retryable: false, message: "The scope of this API key or token does not include this call" },
  forbidden: { status: 403, retryable: false, message: "Forbidden" },
  view_only: { status: 403, retryable: false, message: "This link is for viewing only: it does not let you change anything" },
  not_found: { status: 404, retryable: false, message: "Not found" },
  session_not_found: { status: 404, retryable: false, message: "Session not found" },
  snapshot_not_found: { status: 404, retryable: false, message: "Snapshot not found" },
  run_not_found: { status: 404, retryable: false, message: "Run not found" },
  webhook_not_found: { status: 404, retryable: false, message: "Webhook not found" },
  delivery_not_found: { status: 404, retryable: false, message: "Delivery not found" },
  volume_not_found: { status: 404, retryable: false, message: "Volume not found" },
  key_not_found: { status: 404, retryable: false, message: "Key not found" },
  token_not_found: { status: 404, retryable: false, message: "Token not found" },
  method_not_allowed: { status: 405, retryable: false, message: "Method not allowed" },
  request_timeout: { status: 408, retryable: true, message: "The request did not arrive in time" },
  session_already_paused: { status: 409, retryable: false, message: "Session is already paused" },
  session_already_running: { status: 409, retryable: false, message: "Session is already running" },
  session_paused: { status: 409, retryable: false, message: "Session is paused; resume it first" },
  session_busy: { status: 409, retryable: true, message: "Another operation on this session is in progress" },
  resources_fixed: {
    status: 409,
    retryable: false,
    message: "The resources of this session cannot be changed while it holds memory; pause it, and change them when it is hibernated",
  },
  memory_in_use: {
    status: 409,
    retryable: false,
    message: "The programs of this session hold more memory than this; end some of them first",
  },
  source_not_failed: { status: 409, retryable: false, message: "The source of this session has not failed" },
  session_quota: { status: 409, retryable: false, message: "The limit of live sessions is reached" },
  run_quota: {
    status: 409,
    retryable: false,
    message: "The limit of unfinished runs of this session is reached; wait for one to end, or interrupt one",
  },
  run_waiting: {
    status: 409,
    retryable: true,
    message: "The run has not reached its sandbox yet, because the setup of the session is not over; try again later",
    retryAfterSeconds: 5,
  },
  run_source_failed: {
    status: 409,
    retryable: false,
    message: "The source of the session could not be fetched, so the run did not begin; retry the source and start another run",
  },
  snapshot_busy: { status: 409, retryable: true, message: "The snapshot is still being created", retryAfterSeconds: 1 },
  snapshot_quota: { status: 409, retryable: false, message: "The limit of snapshots is reached; delete one first" },
  volume_exists: { status: 409, retryable: false, message: "You have a volume with this name already" },
  volume_in_use: { status: 409, retryable: false, message: "A session uses this volume; destroy the session first" },
  volume_quota: { status: 409, retryable: false, message: "The limit of volumes is reached; delete one first" },
  volumes_unsupported: { status: 409, retryable: false, message: "This server cannot mount volumes" },
  webhook_quota: { status: 409, retryable: false, message: "The limit of webhooks is reached; delete one first" },
  key_quota: { status: 409, retryable: false, message: "The limit of active keys is reached; revoke one first" },
  key_inactive: { status: 409, retryable: false, message: "The key has expired or is revoked; create a new one instead" },
  token_quota: { status: 409, retryable: false, message: "The limit of active tokens of this session is reached; revoke one first" },
  last_admin_key: { status: 409, retryable: false, message: "This is the last active key with the scope admin; create another one first" },
  idempotency_in_flight: { status: 409, retryable: true, message: "A request with this Idempotency-Key is still in flight" },
  precondition_failed: { status: 412, retryable: false, message: "The resource has changed since you read it; read it again" },
  body_too_large: { status: 413, retryable: false, message: "The request body is larger than 1 MiB" },
  unsupported_media_type: { status: 415, retryable: false, message: "The request body must be application/json" },
  session_elsewhere: {
    status: 421,
    retryable: false,
    message: "This session is on another machine, and only the server there can manage it",
  },
  idempotency_mismatch: { status: 422, retryable: false, message: "This Idempotency-Key was used with another request body" },
  upgrade_required: {
    status: 426,
    retryable: false,
    message: "This is a WebSocket. The proxy in front of the server must pass on the headers Upgrade and Connection",
  },
  rate_limited: { status: 429, retryable: true, message: "Too many requests", retryAfterSeconds: 1 },
  webhook_queue_full: {
    status: 429,
    retryable: true,
    message: "Too many test events or redeliveries are pending for this webhook",
    retryAfterSeconds: 5,
  },
  headers_too_large: { status: 431, retryable: false, message: "The request's headers are too large" },
  internal: { status: 500, retryable: true, message: "Something went wrong on our side" },
  sandbox_failed: { status: 500, retryable: true, message: "The sandbox could not be started" },
  not_supported: { status: 501, retryable: false, message: "Berth does not support this" },
  snapshots_unsupported: { status: 501, retryable: false, message: "The storage of this server cannot take snapshots" },
  sandbox_unreachable: { status: 502, retryable: true, message: "The sandbox does not answer" },
  capacity_reached: {
    status: 503,
    retryable: true,
    message: "There is no capacity for another sandbox at the moment",
    retryAfterSeconds: 10,
  },
  too_many_connections: { status: 503, retryable: true, message: "The server has too many open connections", retryAfterSeconds: 5 },
  store_unavailable: { status: 503, retryable: true, message: "The database does not answer", retryAfterSeconds: 2 },
  engine_unavailable: {
    status: 503,
    retryable: true,
    message: "The sandbox engine is refusing requests",
    retryAfterSeconds: 5,
  },
  image_fetching: { status: 503, retryable: true, message: "The image of the template is being fetched", retryAfterSeconds: 5 },
  unavailable: { status: 503, retryable: true, message: "The service is shutting down", retryAfterSeconds: 1 },
  session_resuming: {
    status: 503,
    retryable: true,
    message: "The session is still being resumed; try again in a moment",
    retryAfterSeconds: 2,
  },
  server_disk_full: {
    status: 507,
    retryable: true,
    message: "The disk of the server is almost full; the operator has to free space",
    retryAfterSeconds: 30,
  },
  disk_missing: {
    status: 500,
    retryable: false,
    message: "The files of this session are missing on the server, so it stays paused; ask the operator to restore them",
  },
  sandbox_timeout: { status: 504, retryable: true, message: "The sandbox engine did not answer in time", retryAfterSeconds: 5 },

  // Only the daemon answers with these. It also uses bad_request, unauthorized, forbidden, not_found, method_not_allowed
  // and internal.
  is_folder: { status: 400, retryable: false, message: "The path is a folder" },
  not_a_file: { status: 400, retryable: false, message: "The path is not a regular file" },
  aborted: { status: 400, retryable: true, message: "The connection was closed before the request was complete" },
  path_outside: { status: 403, retryable: false, message: "The path leads out of the workspace" },
  exists: { status: 409, retryable: false, message: "A file or folder with this name already exists" },
  too_many: { status: 409, retryable: false, message: "The limit is reached; delete something first" },
  input_closed: { status: 409, retryable: false, message: "The input of the process is closed; start it with `stdin: true`" },
  process_ended: { status: 409, retryable: false, message: "The process has ended" },
  agent_none: { status: 409, retryable: false, message: "This session has no agent" },
  agent_unavailable: { status: 409, retryable: false, message: "The agent's program is not installed in this sandbox" },
  agent_unconfigured: { status: 409, retryable: false, message: "The agent is not configured" },
  agent_stopped: { status: 409, retryable: true, message: "The agent was stopped" },
  agent_busy: { status: 409, retryable: true, message: "The agent is still working in this conversation" },
  agent_answered: { status: 409, retryable: false, message: "This question has already been answered" },
  run_ended: { status: 409, retryable: false, message: "The run has ended; start another one with its conversationId" },
  run_never_asks: {
    status: 400,
    retryable: false,
    message: 'The agent does not ask for permission in this mode; choose a mode in which it asks, or the permissions "allow"',
  },
  run_limits_unsupported: {
    status: 409,
    retryable: false,
    message: "maxTurns and maxTokens only work with the server's model, and this agent uses another one; start the run without them",
  },
  agent_conversation_full: { status: 409, retryable: false, message: "This conversation is too long; start a new one" },
  shell_unavailable: {
    status: 409,
    retryable: false,
    message: "This sandbox's image has no shell; use a list with a program and its arguments, or an image with a shell",
  },
  git_no_repository: { status: 409, retryable: false, message: "There is no Git repository in this workspace; initialize or clone one" },
  git_unavailable: { status: 409, retryable: false, message: "Git is not installed in this sandbox" },
  git_blocked: { status: 409, retryable: false, message: "Changes in files would be lost. Commit or discard them first" },
  git_identity: {
    status: 409,
    retryable: false,
    message: "Git does not know the name and email address for commits; set user.name and user.email",
  },
  git_nothing: { status: 409, retryable: false, message: "There is nothing to commit" },
  git_no_remote: { status: 409, retryable: false, message: "The repository has no remote to push to" },
  git_authentication: { status: 409, retryable: false, message: "The remote refused the sign-in" },
  git_rejected: { status: 409, retryable: false, message: "The remote has commits that this branch does not have. Pull first" },
  git_diverged: { status: 409, retryable: false, message: "This branch and its remote branch both have new commits" },
  git_conflict: { status: 409, retryable: false, message: "The changes conflict. Resolve the files and commit" },
  git_locked: { status: 409, retryable: true, message: "Another Git command is running in this repository" },
  changed: { status: 412, retryable: false, message: "The file has changed since it was read" },
  too_large: { status: 413, retryable: false, message: "The request is too large" },
  range: { status: 416, retryable: false, message: "The file is shorter than the requested range" },
  git_failed: { status: 502, retryable: false, message: "Git failed in this workspace" },
  agent_failed: { status: 502, retryable: true, message: "The agent could not be started" },
  model_key_refused: {
    status: 401,
    retryable: false,
    message: "The model's provider rejected the server's API key. The operator must check it.",
  },
  model_quota: {
    status: 402,
    retryable: false,
    message: "The account at the model's provider has no credit left. The operator must check it.",
  },
  model_refused: { status: 400, retryable: false, message: "The model refused the request" },
  model_context_full: {
    status: 413,
    retryable: false,
    message: "The conversation no longer fits into the model's context. Start a new conversation, or ask about less at once.",
  },
  model_rate_limited: {
    status: 429,
    retryable: true,
    message: "The model's provider limits the number of requests. Try again in a moment.",
    retryAfterSeconds: 5,
  },
  model_unreachable: { status: 502, retryable: true, message: "The model does not answer. Try again in a moment." },
  model_unavailable: {
    status: 503,
    retryable: true,
    message: "The model's provider reports an error. Try again in a moment.",
    retryAfterSeconds: 5,
  },
  port_closed: { status: 502, retryable: true, message: "No program listens on this port" },
  busy: { status: 503, retryable: true, message: "The sandbox has reached its limit of processes or open files", retryAfterSeconds: 1 },
  git_timeout: { status: 504, retryable: true, message: "Git did not finish in time", retryAfterSeconds: 5 },
  disk_read_only: {
    status: 507,
    retryable: false,
    message: "The disk of the sandbox has failed and is read-only; pause and resume the session",
  },
  disk_full: { status: 507, retryable: false, message: "The disk of the sandbox is full; delete files that you do not need" },
} as const satisfies Record<string, ErrorRule>;

interface ErrorRule {
  status: number;
  retryable: boolean;
  message: string;
  retryAfterSeconds?: number;
}

export type ErrorCode = keyof typeof ERRORS;

export interface FieldFault {
  field: string;
  message: string;
}

export interface AppErrorOptions {
  // Replaces the table's sentence. The caller reads it, so it must not contain internals or secrets.
  message?: string;
  details?: FieldFault[];
  retryAfterSeconds?: number;
  cause?: unknown;
}

export class AppError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly details?: FieldFault[];
  readonly retryAfterSeconds?: number;

  constructor(code: ErrorCode, options: AppErrorOptions = {}) {
    const rule: ErrorRule = ERRORS[code];
    super(options.message ?? rule.message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "AppError";
    this.code = code;
    this.status = rule.status;
    if (options.details) this.details = options.details;
    const retryAfterSeconds = options.retryAfterSeconds ?? rule.retryAfterSeconds;
    if (retryAfterSeconds !== undefined) this.retryAfterSeconds = retryAfterSeconds;
  }
}

// Compares the name instead of the class, because each lazily loaded bundle of the daemon has its own copy of the class.
export const isAppError = (error: unknown, code?: ErrorCode): error is AppError =>
  error instanceof Error && error.name === "AppError" && (code === undefined || (error as AppError).code === code);
