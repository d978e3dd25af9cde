import type { FieldFault, McpServer, McpServerRead, TemplateMcpServer } from "@berth/contract";
import { FORBIDDEN_HEADERS, isUsableUrl } from "./upstreams.ts";

// MCP servers of a session's agent. One with an address is a relay of the session, so that its credential stays outside the sandbox.

// As they are stored with the session, without secrets.
export type StoredMcpServer = { name: string; url: string } | { name: string; command: string; args: string[] };

// Lower case, so it differs from every name of a relay that a caller may choose.
export const MCP_RELAY_PREFIX = "mcp_";
export const relayNameOf = (name: string): string => `${MCP_RELAY_PREFIX}${name}`;

export function toStored({ name, url, command, args = [] }: McpServer | TemplateMcpServer): StoredMcpServer {
  return url === undefined ? { name, command: command ?? "", args } : { name, url };
}

export const toMcpRead = (server: StoredMcpServer): McpServerRead =>
  "url" in server ? { name: server.name, host: new URL(server.url).host } : { name: server.name, command: server.command };

// Those of the session, and those of the template that it does not replace.
export const joinMcpServers = (own: readonly StoredMcpServer[], ofTemplate: readonly TemplateMcpServer[]): StoredMcpServer[] => [
  ...own,
  ...ofTemplate.filter(({ name }) => !own.some((other) => other.name === name)).map(toStored),
];

// The faults that the schema cannot express. `secret` is the field with the value of the header.
export function findMcpFaults(
  servers: readonly (McpServer | TemplateMcpServer)[],
  secret: "value" | "valueVariable" = "value",
): FieldFault[] {
  return servers.flatMap((server, i) => {
    const fault = faultOf(server, secret, servers.slice(0, i));
    return fault ? [{ field: `mcpServers.${i}.${fault.field}`, message: fault.message }] : [];
  });
}

function faultOf(
  server: McpServer & TemplateMcpServer,
  secret: "value" | "valueVariable",
  before: readonly { name: string }[],
): FieldFault | null {
  const { name, url, command, args, header } = server;
  if ((url === undefined) === (command === undefined)) return { field: "url", message: "Must have exactly one of url and command" };
  if (url !== undefined && !isUsableUrl(url)) return { field: "url", message: "Must be an https or http URL" };
  if (url !== undefined && args !== undefined) return { field: "args", message: "Needs command" };
  if (url === undefined && header !== undefined) return { field: "header", message: "Needs url" };
  if ((header === undefined) !== (server[secret] === undefined)) return { field: secret, message: `Must be given together with header` };
  if (header !== undefined && FORBIDDEN_HEADERS.has(header.toLowerCase())) return { field: "header", message: "This header cannot be set" };
  if (before.some((other) => other.name === name)) return { field: "name", message: "Must be unique" };
  return null;
}
