import type { ServerResponse } from "node:http";

// Plain text, because programs such as git show it. The last answer on its connection.
export function sendRefusal(response: ServerResponse, status: number, reason: string): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" }).end(`berth: ${reason}\n`);
}
