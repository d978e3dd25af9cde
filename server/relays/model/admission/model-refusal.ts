import type { ServerResponse } from "node:http";

// A request of a sandbox that the relay does not pass on, or whose answer it cannot pass on.
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

// In a shape that the libraries of both providers read.
export function answerRefusal(response: ServerResponse, { status, code, message, retryAfterSeconds }: ModelRefusal): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  response.writeHead(status, {
    "Content-Type": "application/json",
    Connection: "close",
    ...(retryAfterSeconds === undefined ? {} : { "Retry-After": retryAfterSeconds }),
  });
  response.end(JSON.stringify({ type: "error", error: { type: code, code, message } }));
}
