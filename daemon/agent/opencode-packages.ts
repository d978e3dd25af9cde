import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

const SETTINGS = `# Written by Berth. opencode installs a package for plugins in this folder at its first start, even if there are no plugins.
# Remove this line if you add plugins that need packages.
offline=true
`;

// At its first start, opencode 1.18 downloads a plugin package with thousands of files into its folder of settings, which costs more
// processor time than the start itself. It has no option against that, but it follows npm's settings for that folder. In the
// environment, the same setting would also apply to the commands that the agent runs. No-op if the folder contains anything.
export function keepOpencodeOffline(command: string, { HOME, XDG_CONFIG_HOME }: Record<string, string>): void {
  if (basename(command) !== "opencode" || !HOME) return;
  const folder = join(XDG_CONFIG_HOME || join(HOME, ".config"), "opencode");
  try {
    mkdirSync(folder, { recursive: true });
    if (readdirSync(folder).length === 0) writeFileSync(join(folder, ".npmrc"), SETTINGS, { flag: "wx" });
  } catch {
    // The agent works without this.
  }
}
