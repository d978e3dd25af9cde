import { describeMismatch, readInstallationId, writeInstallationId } from "../../data-folder/installation-id.ts";
import type { Log } from "../../log.ts";
import { ensureInstallationId } from "../../store/facts.ts";
import { requireKnownSandboxes, type RequireKnownDeps } from "./require-known.ts";

export interface MatchStoreDeps extends Omit<RequireKnownDeps, "mismatch"> {
  dataDir: string;
  log: Log;
}

// Checks at start that the store belongs to the data folder and to the sandboxes. A folder that is new or that lost nothing takes the id
// of the store: a new replica of a shared store, or an installation that moved to another database.
export async function matchStore(deps: MatchStoreDeps, { quarantineUnknown }: { quarantineUnknown: boolean }): Promise<void> {
  const { store, dataDir, log } = deps;
  const [folderId, storeId] = [await readInstallationId(dataDir), await ensureInstallationId(store.db)];
  const mismatch = describeMismatch(dataDir, folderId, storeId);
  if (!quarantineUnknown) await requireKnownSandboxes({ ...deps, mismatch });
  if (mismatch !== null) log.warn("installation.mismatch", { message: mismatch });
  if (folderId !== storeId) await writeInstallationId(dataDir, storeId);
}
