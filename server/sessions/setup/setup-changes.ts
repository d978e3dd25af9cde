import { AppError, type McpServerUpdate, type RelayUpdate } from "@berth/contract";
import type { Secrets } from "../../secrets/secrets.ts";
import type { PartnerSession } from "../../store/sessions/session.ts";
import type { SessionChanges } from "../../store/sessions/columns.ts";
import { relayNameOf } from "../../mcp-servers.ts";
import { GIT_RELAY, openRelays, sealRelays, withToken } from "../relays/session-relays.ts";

// The changes that renew the token of a session's repository and the values of its relays and MCP servers. A source that has failed is fetched again
// with a new token.
export function renewSecrets(
  secrets: Secrets,
  session: PartnerSession,
  { gitToken, relayValues = [], mcpValues = [] }: RenewedSecrets,
): SessionChanges {
  if (gitToken === undefined && relayValues.length === 0 && mcpValues.length === 0) return {};
  const { sandboxId, sealedRelays } = session;
  const renewed = new Map(openRelays(secrets, sealedRelays, sandboxId).map((relay) => [relay.name, relay]));
  const find = (name: string, field: string, message: string) => {
    const relay = renewed.get(name);
    if (!relay) throw new AppError("validation_failed", { details: [{ field, message }] });
    return relay;
  };
  for (const [i, { name, value }] of relayValues.entries())
    renewed.set(name, { ...find(name, `relays.${i}.name`, "The session has no relay with this name"), value });
  for (const [i, { name, value }] of mcpValues.entries()) {
    const message = "The session has no MCP server with this name and a header";
    const relay = find(relayNameOf(name), `mcpServers.${i}.name`, message);
    if (relay.header === "") throw new AppError("validation_failed", { details: [{ field: `mcpServers.${i}.name`, message }] });
    renewed.set(relay.name, { ...relay, value });
  }
  if (gitToken !== undefined) {
    const git = find(GIT_RELAY, "source.git.token", "The session was created without a token, so there is none to renew");
    renewed.set(GIT_RELAY, withToken(git, gitToken));
  }
  const retry = gitToken !== undefined && session.state === "running" ? retryChanges(session) : null;
  return { sealedRelays: sealRelays(secrets, [...renewed.values()], sandboxId)!, ...retry };
}

interface RenewedSecrets {
  gitToken?: string;
  relayValues?: readonly RelayUpdate[];
  mcpValues?: readonly McpServerUpdate[];
}

// The changes that let a failed source be fetched again. null: it has not failed.
export function retryChanges({ setup }: PartnerSession): SessionChanges | null {
  if (setup?.source?.status !== "failed") return null;
  return {
    setup: { ...setup, source: { ...setup.source, status: "pending", reason: null }, status: "pending", attempt: setup.attempt + 1 },
    setupState: "source",
  };
}
