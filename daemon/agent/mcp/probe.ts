import { request, type IncomingMessage } from "node:http";
import type { AgentMcpServer } from "@berth/contract/daemon.ts";
import { VERSION } from "@berth/contract/version.ts";

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 4096;
// The server refuses requests to a relay with such a text.
const REFUSAL = /^berth: (.+)\n$/;
const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "berth", version: VERSION } },
};

// Whether an MCP server answers at this address, which is one of a relay.
export async function probe(url: string): Promise<Pick<AgentMcpServer, "status" | "message">> {
  try {
    const response = await send(url, "POST", {}, JSON.stringify(INITIALIZE));
    const { statusCode = 0, headers } = response;
    const session = headers["mcp-session-id"];
    const text = statusCode < 300 ? "" : await readStart(response);
    response.destroy();
    if (statusCode >= 200 && statusCode < 300) {
      // Otherwise the server would keep an unused session.
      if (typeof session === "string")
        void send(url, "DELETE", { "mcp-session-id": session }).then(
          (end) => end.destroy(),
          () => {},
        );
      return { status: "ready" };
    }
    // A server that speaks only newer revisions refuses the request, but it answers.
    if (statusCode === 400 && text.includes('"jsonrpc"')) return { status: "ready" };
    return { status: "failed", message: REFUSAL.exec(text)?.[1] ?? `It answered with status ${statusCode}.` };
  } catch (error) {
    return { status: "failed", message: error instanceof TooSlow ? "It did not answer in time." : "The connection to it failed." };
  }
}

class TooSlow extends Error {}

function send(url: string, method: string, headers: Record<string, string>, body?: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      method,
      agent: false,
      headers: {
        accept: "application/json, text/event-stream",
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
    });
    const timer = setTimeout(() => sent.destroy(new TooSlow()), TIMEOUT_MS);
    sent.once("close", () => clearTimeout(timer));
    sent.once("error", reject);
    sent.once("response", (response) => {
      response.on("error", () => {});
      resolve(response);
    });
    sent.end(body);
  });
}

async function readStart(response: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of response) {
    text += String(chunk);
    if (text.length > MAX_BYTES) break;
  }
  return text.slice(0, MAX_BYTES);
}
