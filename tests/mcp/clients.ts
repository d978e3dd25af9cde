import { Client as NewClient, StreamableHTTPClientTransport as NewTransport } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

// The clients that agents and editors are built with: the one of revision 2026-07-28, and the one of the revisions before.
export interface McpClient extends AsyncDisposable {
  revision: string | undefined;
  tools(): Promise<ListedTool[]>;
  call(name: string, args: object, options?: { signal?: AbortSignal; onProgress?: (message: string) => void }): Promise<Called>;
}

export interface ListedTool {
  name: string;
  inputSchema: { required?: string[]; properties?: Record<string, unknown> };
  annotations?: { readOnlyHint?: boolean; destructiveHint?: boolean };
}

export interface Called {
  text: string;
  data: never;
  isError: boolean;
}

interface RawResult {
  content: { text: string }[];
  structuredContent?: unknown;
  isError?: boolean;
}

const toCalled = (result: unknown): Called => {
  const { content, structuredContent, isError } = result as RawResult;
  return { text: content.map(({ text }) => text).join("\n"), data: structuredContent as never, isError: isError === true };
};

export const GENERATIONS = { new: connectNew, old: connectOld };

async function connectNew(url: string, bearer: string): Promise<McpClient> {
  const client = new NewClient({ name: "test", version: "1" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(new NewTransport(new URL(`${url}/mcp`), { requestInit: { headers: { authorization: `Bearer ${bearer}` } } }));
  return {
    revision: client.getNegotiatedProtocolVersion(),
    tools: async () => (await client.listTools()).tools,
    call: async (name, args, { signal, onProgress } = {}) =>
      toCalled(
        await client.callTool(
          { name, arguments: args as Record<string, unknown> },
          { ...(signal && { signal }), ...(onProgress && { onprogress: ({ message }) => onProgress(message ?? "") }) },
        ),
      ),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

async function connectOld(url: string, bearer: string): Promise<McpClient> {
  const client = new OldClient({ name: "test", version: "1" });
  const transport = new OldTransport(new URL(`${url}/mcp`), { requestInit: { headers: { authorization: `Bearer ${bearer}` } } });
  await client.connect(transport as never);
  return {
    revision: transport.protocolVersion,
    tools: async () => (await client.listTools()).tools,
    call: async (name, args, { signal, onProgress } = {}) =>
      toCalled(
        await client.callTool({ name, arguments: args as Record<string, unknown> }, undefined, {
          ...(signal && { signal }),
          ...(onProgress && { onprogress: ({ message }) => onProgress(message ?? "") }),
        }),
      ),
    [Symbol.asyncDispose]: () => client.close(),
  };
}
