import { existsSync, readdirSync, realpathSync, rmdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isSandboxId } from "@berth/contract";
import { MASTER_KEY_FILE } from "@berth/server/secrets/master-key.ts";
import { DEMO_KEY_FILE } from "@berth/server/keys/seed.ts";
import { cgroupPrefix, openCgroups } from "@berth/server/drivers/oci/cgroups/cgroups.ts";
import { readMountPoints } from "@berth/server/drivers/host/mounts.ts";
import { mustRun } from "@berth/server/drivers/host/run.ts";

export const STORE_FILE = "berth.db";
const HOST_NAME_FILE = "host-name";
const PRIVATE_FILES = [HOST_NAME_FILE, MASTER_KEY_FILE, DEMO_KEY_FILE];

// Everything that Berth writes into its data folder, wholly its own. Whatever else lies there stays.
const OURS = new Set([
  STORE_FILE,
  `${STORE_FILE}-wal`,
  `${STORE_FILE}-shm`,
  ...PRIVATE_FILES,
  "sandboxes",
  "containers",
  "egress",
  "probe",
]);
// Left by a server that died while it wrote one of them (server/data-folder/private-file.ts).
const DRAFT = new RegExp(`^(${PRIVATE_FILES.join("|")})\\.[0-9a-f]{12}$`);

// Whether a server has been here: BERTH_DATA_DIR may be set to a wrong folder. What is left when somebody has tried to
// delete the folder while sandboxes were running counts too, and so does a folder that is gone while they run on.
export function hasInstallation(dataDir: string): boolean {
  if ([STORE_FILE, HOST_NAME_FILE].some((name) => existsSync(join(dataDir, name)))) return true;
  const sandboxes = join(dataDir, "sandboxes");
  if (existsSync(sandboxes) && readdirSync(sandboxes).some(isSandboxId)) return true;
  return process.platform === "linux" && openCgroups(cgroupPrefix(realPathOf(dataDir))).list().length > 0;
}

function realPathOf(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return dirname(folder) === folder ? folder : join(realPathOf(dirname(folder)), basename(folder));
  }
}

export interface DeletedFolder {
  deleted: string[];
  // Files that are not ours. Without any, the folder itself is gone too.
  kept: string[];
}

export async function deleteDataFolder(dataDir: string): Promise<DeletedFolder> {
  const place = realpathSync(dataDir);
  const mounted = process.platform === "linux" ? readMountPoints().filter((point) => point.startsWith(`${place}/`)) : [];
  if (mounted.length > 0) throw new Error(`Nothing was deleted, because this is still mounted: ${mounted.join(", ")}`);
  const names = readdirSync(dataDir);
  const deleted = names.filter((name) => OURS.has(name) || DRAFT.test(name));
  const kept = names.filter((name) => !deleted.includes(name));
  // Not by Node: a tree that is deeper than a path may be long stops it.
  const options = process.platform === "linux" ? ["-rf", "--one-file-system"] : ["-rf"];
  await mustRun("rm", [...options, "--", ...deleted.map((name) => join(dataDir, name))], { timeoutMs: 10 * 60_000 });
  if (kept.length === 0) rmdirSync(dataDir);
  return { deleted, kept };
}
