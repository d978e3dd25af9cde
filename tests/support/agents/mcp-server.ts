import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createMcpHandler, Server } from "@modelcontextprotocol/server";

// A real MCP server on a loopback port, with one tool. It refuses requests without its header.
export interface NotesServer extends AsyncDisposable {
  readonly url: string;
  readonly address: string;
  // The headers of every request that was let in.
  readonly admitted: Record<string, unknown>[];
}

export async function startNotesServer({ header, value, answer }: { header: string; value: string; answer: string }): Promise<NotesServer> {
  const admitted: Record<string, unknown>[] = [];
  const handler = createMcpHandler(() => {
    const server = new Server({ name: "notes", version: "1.0.0" }, { capabilities: { tools: {} } });
    server.setRequestHandler("tools/list", () => ({
      tools: [{ name: "find", description: "Finds a note", inputSchema: { type: "object", properties: { word: { type: "string" } } } }],
    }));
    server.setRequestHandler("tools/call", () => ({ content: [{ type: "text", text: answer }] }));
    return server;
  });
  const http = createServer((request, response) => {
    if (request.headers[header] !== value) return void response.writeHead(401, { "www-authenticate": "Bearer" }).end("who are you?");
    admitted.push(request.headers);
    const hasBody = request.method === "POST";
    const headers = Object.entries(request.headers).map(([name, text]) => [name, String(text)] as [string, string]);
    const asked = new Request(`http://notes${request.url}`, {
      method: request.method ?? "GET",
      headers,
      ...(hasBody && { body: Readable.toWeb(request) as ReadableStream, duplex: "half" }),
    });
    const serve = async () => {
      const answered = await handler.fetch(asked);
      response.writeHead(answered.status, Object.fromEntries(answered.headers));
      if (answered.body) await pipeline(Readable.fromWeb(answered.body as never), response);
      else response.end();
    };
    serve().catch(() => response.destroy());
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const address = `127.0.0.1:${(http.address() as AddressInfo).port}`;
  return {
    url: `http://${address}/mcp`,
    address,
    admitted,
    async [Symbol.asyncDispose]() {
      http.close();
      http.closeAllConnections();
      await once(http, "close");
    },
  };
}
