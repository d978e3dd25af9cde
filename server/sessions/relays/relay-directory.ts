import type { SandboxId } from "@berth/contract";
import type { Secrets } from "../../secrets/secrets.ts";
import type { Store } from "../../store/open.ts";
import { findRelayOwner } from "../../store/sessions/read.ts";
import type { Templates } from "../../templates.ts";
import { GIT_RELAY, mcpRelayOf, openRelays, type SessionRelay } from "./session-relays.ts";

export interface RelayDirectoryDeps {
  store: Store;
  secrets: Secrets;
  templates: Templates;
  // The server's environment. Templates name the variable that holds a relay's value.
  env: Record<string, string | undefined>;
}

// `label` is its name in metrics: partners choose the names of their own relays, so those share one.
type LabelledRelay = SessionRelay & { label: string };

// Returns the relays of a sandbox with their secrets, and the partner of its session. A relay of the session replaces one of the template with the same name.
export function createRelayDirectory({ store, secrets, templates, env }: RelayDirectoryDeps) {
  return async (sandboxId: SandboxId): Promise<{ partnerId: string | null; relays: LabelledRelay[] }> => {
    const owner = await findRelayOwner(store.db, sandboxId);
    if (!owner) return { partnerId: null, relays: [] };
    const { relays = [], mcpServers = [] } = templates.get(owner.template) ?? {};
    const ofTemplate = relays.flatMap(({ valueVariable, ...relay }) => {
      const value = env[valueVariable];
      return value ? [{ ...relay, value, label: relay.name }] : [];
    });
    const toMcp = mcpServers.flatMap((server) => {
      const value = server.valueVariable === undefined ? "" : env[server.valueVariable];
      return value === undefined ? [] : mcpRelayOf(server, value).map((relay) => ({ ...relay, label: relay.name }));
    });
    const ofSession = openRelays(secrets, owner.sealedRelays, sandboxId).map((relay) => ({
      ...relay,
      label: relay.name === GIT_RELAY ? GIT_RELAY : "session",
    }));
    return { partnerId: owner.partnerId, relays: [...ofSession, ...ofTemplate, ...toMcp] };
  };
}
