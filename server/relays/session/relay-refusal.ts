import type { ServerResponse } from "node:http";

// The relay refuses a request, or cannot return an answer. The message is for people in the sandbox.
export class RelayRefusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

// Plain text, because git shows it.
export function sendRefusal(response: ServerResponse, { status, message }: RelayRefusal): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  response.writeHead(status, { "content-type": "text/plain", connection: "close" }).end(`berth: ${message}\n`);
}
