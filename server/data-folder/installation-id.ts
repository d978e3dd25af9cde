import { join } from "node:path";
import { readFileIfExists } from "../bounded-io/read-small-file.ts";
import { writePrivateFile } from "./private-file.ts";

// The id of the store that a data folder was last used with. Every store has its own; servers that share a store share its id.
export const INSTALLATION_FILE = "installation-id";

export async function readInstallationId(dataDir: string): Promise<string | null> {
  return (await readFileIfExists(join(dataDir, INSTALLATION_FILE)))?.trim() ?? null;
}

export const writeInstallationId = (dataDir: string, id: string): Promise<void> =>
  writePrivateFile(join(dataDir, INSTALLATION_FILE), `${id}\n`);

// null: they match, or the folder is new.
export function describeMismatch(dataDir: string, folderId: string | null, storeId: string): string | null {
  if (folderId === null || folderId === storeId) return null;
  return `The data folder ${dataDir} was last used with another store: it carries the installation id ${folderId}, and this store ${storeId}.`;
}
