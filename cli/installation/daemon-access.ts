import { randomBytes } from "node:crypto";
import { AppError } from "@berth/contract";
import type { Config } from "@berth/server/config/config.ts";
import { createDaemonLinks, type DaemonLinks } from "@berth/server/daemon-link/daemon-links.ts";
import type { Driver } from "@berth/server/drivers/driver.ts";
import { silentLog } from "@berth/server/log.ts";
import { loadMasterKeys } from "@berth/server/secrets/master-key.ts";
import { createSecrets, type Secrets } from "@berth/server/secrets/secrets.ts";
import type { Store } from "@berth/server/store/open.ts";
import { readSandboxAccess } from "@berth/server/store/sessions/read.ts";

// Unlike the server, never generates a master key. Without one, daemons refuse every request.
export async function openSecrets(config: Config): Promise<Secrets> {
  const keys = await loadMasterKeys(config, { isNewStore: false }).catch(() => null);
  return createSecrets(keys ?? [randomBytes(32)]);
}

export function openDaemonLinks({ store, driver, secrets }: { store: Store; driver: Driver; secrets: Secrets }): DaemonLinks {
  return createDaemonLinks({
    driver,
    log: silentLog,
    tokenOf: async (sandboxId) => {
      const access = await readSandboxAccess(store, sandboxId);
      if (!access) throw new AppError("sandbox_unreachable");
      return secrets.open(access.sealedToken, sandboxId);
    },
  });
}
