import { existsSync, lstatSync, readdirSync, realpathSync, rmdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isSandboxId } from "@berth/contract";
import { BUILDS_FOLDER } from "@berth/server/builds/open-builds.ts";
import { CANARY_FILE, CANARY_FOLDER } from "@berth/server/doctor/canary.ts";
import { MASTER_KEY_FILE } from "@berth/server/secrets/master-key.ts";
import { DEMO_KEY_FILE } from "@berth/server/keys/seed.ts";
import { INSTALLATION_FILE } from "@berth/server/data-folder/installation-id.ts";
import { RECORDS_FOLDER } from "@berth/server/sessions/quarantine/session-records.ts";
import { cgroupPrefix, openCgroups } from "@berth/server/drivers/oci/cgroups/cgroups.ts";
import { RESERVE_FILE } from "@berth/server/disk-space.ts";
import { readMountPoints } from "@berth/server/drivers/host/mounts.ts";
import { createNamespaceRunner } from "@berth/server/drivers/host/rootless/namespace-runner.ts";
import { findSubIds } from "@berth/server/drivers/host/rootless/sub-ids.ts";
import { mustRun } from "@berth/server/drivers/host/run.ts";
import { STORE_FILE } from "../installation/settings.ts";

const HOST_NAME_FILE = "host-name";
const PRIVATE_FILES = [HOST_NAME_FILE, MASTER_KEY_FILE, DEMO_KEY_FILE, INSTALLATION_FILE];

// Everything that Berth writes to its data folder. Other files stay.
const BERTH_FILES = new Set([
  STORE_FILE,
  `${STORE_FILE}-wal`,
  `${STORE_FILE}-shm`,
  ...PRIVATE_FILES,
  RESERVE_FILE,
  "sandboxes",
  RECORDS_FOLDER,
  CANARY_FOLDER,
  BUILDS_FOLDER,
  "snapshots",
  "images",
  "volumes",
  "containers",
  "egress",
  "probe",
  "roots",
  CANARY_FILE,
]);
// Temporary files of a server that died during a write (server/data-folder/private-file.ts).
const TEMPORARY_FILE = new RegExp(`^(${PRIVATE_FILES.join("|")})\\.[0-9a-f]{12}$`);

// Whether this is the data folder of a server, because BERTH_DATA_DIR may be wrong. Also true for the remains of a folder that was
// deleted by hand, and for a deleted folder whose sandboxes still run.
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
  // Files that are not from Berth.
  kept: string[];
  // Why the folder itself stays. Berth creates neither a mount point nor a link, so an operator did.
  folder: "deleted" | "not empty" | "mount point" | "link";
}

export async function deleteDataFolder(dataDir: string): Promise<DeletedFolder> {
  const folder = realpathSync(dataDir);
  const points = process.platform === "linux" ? readMountPoints() : [];
  const mounted = points.filter((point) => point.startsWith(`${folder}/`));
  if (mounted.length > 0) throw new Error(`Nothing was deleted, because these are still mounted: ${mounted.join(", ")}`);
  const names = readdirSync(dataDir);
  const deleted = names.filter((name) => BERTH_FILES.has(name) || TEMPORARY_FILE.test(name));
  const kept = names.filter((name) => !deleted.includes(name));
  // `rm` and not Node, which fails on trees that are deeper than the longest path.
  const options = process.platform === "linux" ? ["-rf", "--one-file-system"] : ["-rf"];
  await removeFiles([...options, "--", ...deleted.map((name) => join(dataDir, name))]);
  const reason = lstatSync(dataDir).isSymbolicLink() ? "link" : points.includes(folder) ? "mount point" : "not empty";
  if (kept.length > 0 || reason !== "not empty") return { deleted, kept, folder: reason };
  rmdirSync(dataDir);
  return { deleted, kept, folder: "deleted" };
}

async function removeFiles(args: readonly string[]): Promise<void> {
  const options = { timeoutMs: 10 * 60_000 };
  try {
    await mustRun("rm", args, options);
  } catch (error) {
    // Sandboxes of an ordinary user have files of that user's sub-ids, and folders that they have closed to themselves. Some are left if
    // a sandbox could not be destroyed before.
    if (process.getuid?.() === 0) throw error;
    const found = findSubIds();
    await using files = createNamespaceRunner("ids" in found ? found.ids : undefined);
    await files.run("rm", args, options);
  }
}
