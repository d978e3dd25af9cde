import { MIGRATIONS } from "../store/migrations/index.ts";
import { schemaVersion } from "../store/migrations/migrate.ts";
import type { Store } from "../store/open.ts";
import type { Finding } from "./finding.ts";

// Whether the tables are those of this version. `name` says which store it is.
export async function checkSchema(store: Store, name: string): Promise<Finding & { isCurrent: boolean }> {
  const version = await schemaVersion(store);
  const newest = MIGRATIONS.length;
  const text = `${name} answers; schema ${version} of ${newest}`;
  if (version === newest) return { topic: "store", state: "good", text: `${text}, up to date`, isCurrent: true };
  if (version < newest) return { topic: "store", state: "good", text: `${text}, the next start migrates it`, isCurrent: false };
  const cure = "Install that version again, or restore a backup from before the update.";
  return { topic: "store", state: "bad", text: `${text}, created by a newer version of Berth`, cure, isCurrent: false };
}
