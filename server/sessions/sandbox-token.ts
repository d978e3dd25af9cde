import { AppError, type SandboxId } from "@berth/contract";
import type { Secrets } from "../secrets/secrets.ts";
import type { Store } from "../store/open.ts";
import { readSandboxAccess } from "../store/sessions/read.ts";
import { isAtSite, type Site } from "../store/sessions/session.ts";
import type { ServerDirectory } from "./server-directory.ts";

export interface SandboxTokenDeps {
  store: Store;
  secrets: Secrets;
  site: Site;
  servers: Pick<ServerDirectory, "elsewhere">;
}

// Finds the token with which the daemon of a sandbox is called.
export function createTokenOf({ store, secrets, site, servers }: SandboxTokenDeps): (sandboxId: SandboxId) => Promise<string> {
  return async (sandboxId) => {
    const access = await readSandboxAccess(store, sandboxId);
    if (!access) throw new AppError("sandbox_unreachable");
    if (!isAtSite(access, site)) throw await servers.elsewhere(access.site);
    return secrets.open(access.sealedToken, sandboxId);
  };
}
