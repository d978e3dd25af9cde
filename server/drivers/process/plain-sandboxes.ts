import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

export const PID_FILE = "daemon.pid";

// Whether a data folder has sandboxes of the process driver.
export function hasPlainSandboxes(dataDir: string): boolean {
  const folder = join(dataDir, "sandboxes");
  return existsSync(folder) && readdirSync(folder).some((id) => existsSync(join(folder, id, PID_FILE)));
}
