import type { SandboxId } from "@berth/contract";
import type { Secrets } from "../../secrets/secrets.ts";
import type { Store } from "../../store/open.ts";
import { findRelayOwner } from "../../store/sessions/setup.ts";
import type { Templates } from "../../templates.ts";
import { openRelays, type SessionRelay } from "./session-relays.ts";

export interface RelayDirectoryDeps {
  store: Store;
  secrets: Secrets;
  templates: Templates;
  // The server's environment. Templates name the variable that holds a relay's value.
  env: Record<string, string | undefined>;
}

// Returns the relays of a sandbox with their secrets. A relay of the session replaces one of the template with the same name.
export function createRelayDirectory({ store, secrets, templates, env }: RelayDirectoryDeps) {
  return async (sandboxId: SandboxId): Promise<SessionRelay[]> => {
    const owner = await findRelayOwner(store.db, sandboxId);
    if (!owner) return [];
    const ofTemplate = (templates.get(owner.template)?.relays ?? []).flatMap(({ valueVariable, ...relay }) => {
      const value = env[valueVariable];
      return value ? [{ ...relay, value }] : [];
    });
    return [...openRelays(secrets, owner.sealedRelays, sandboxId), ...ofTemplate];
  };
}
