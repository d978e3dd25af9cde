import type { GitSource, McpServer, Relay, SandboxId, TemplateMcpServer } from "@berth/contract";
import { relayNameOf } from "../../mcp-servers.ts";
import type { Secrets } from "../../secrets/secrets.ts";

// A relay of a session, with its secret. `username` is set for the relay of the session's repository.
export type SessionRelay = Relay & { username?: string };

// Lower case, so it differs from every name that a caller may choose.
export const GIT_RELAY = "git";
const DEFAULT_USERNAME = "x-access-token";

export function gitRelayOf({ url, username = DEFAULT_USERNAME }: GitSource, token: string): SessionRelay {
  return { name: GIT_RELAY, upstream: url, header: "authorization", value: basic(username, token), username };
}

export const withToken = (relay: SessionRelay, token: string): SessionRelay => ({
  ...relay,
  value: basic(relay.username ?? DEFAULT_USERNAME, token),
});

// The relay to an MCP server that has an address. Without a header, nothing is added to its requests.
export const mcpRelayOf = ({ name, url, header = "" }: McpServer | TemplateMcpServer, value = ""): SessionRelay[] =>
  url === undefined ? [] : [{ name: relayNameOf(name), upstream: url, header, value }];

const basic = (username: string, token: string) => `Basic ${Buffer.from(`${username}:${token}`).toString("base64")}`;

// Relays are stored like environment variables: sealed for their sandbox.
export const sealRelays = (secrets: Secrets, relays: readonly SessionRelay[], sandboxId: SandboxId): string | null =>
  relays.length === 0 ? null : secrets.seal(JSON.stringify(relays), sandboxId);

export const openRelays = (secrets: Secrets, sealed: string | null, sandboxId: SandboxId): SessionRelay[] =>
  sealed === null ? [] : (JSON.parse(secrets.open(sealed, sandboxId)) as SessionRelay[]);
