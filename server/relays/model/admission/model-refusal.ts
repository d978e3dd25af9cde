import type { ServerResponse } from "node:http";

// The relay refuses a request, or cannot return an answer.
export class ModelRefusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, code: string, message: string, retryAfterSeconds?: number) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

// The body has a form that the client libraries of both providers understand.
export function sendRefusal(response: ServerResponse, { status, code, message, retryAfterSeconds }: ModelRefusal): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  response.writeHead(status, {
    "Content-Type": "application/json",
    Connection: "close",
    ...(retryAfterSeconds === undefined ? {} : { "Retry-After": retryAfterSeconds }),
  });
  response.end(JSON.stringify({ type: "error", error: { type: code, code, message } }));
}

// With 400, agents show the message and stop. After 429, which OpenAI would return, opencode retries for a minute; it does the same
// after any text that contains "500", such as a cap of 5000. After 402 and 403 agents give advice about accounts.
export const tokensExhausted = (message = "This session has used all its tokens") => new ModelRefusal(400, "insufficient_quota", message);
