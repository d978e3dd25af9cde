import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

const NPM_SETTINGS = `# Written by Berth, because opencode installs a package here that only plugins need, even if there are none.
# Remove this line if you add plugins.
offline=true
`;

// At its first start, opencode 1.18 downloads a package for plugins with thousands of files into its configuration folder, which costs
// more processor time than the start itself. No option prevents that, but opencode reads npm's settings in that folder. An environment
// variable would also apply to the commands that the agent runs. No-op if the folder contains anything.
export function keepOpencodeOffline(command: string, { HOME, XDG_CONFIG_HOME }: Record<string, string>): void {
  if (basename(command) !== "opencode" || !HOME) return;
  const folder = join(XDG_CONFIG_HOME || join(HOME, ".config"), "opencode");
  try {
    mkdirSync(folder, { recursive: true });
    if (readdirSync(folder).length === 0) writeFileSync(join(folder, ".npmrc"), NPM_SETTINGS, { flag: "wx" });
  } catch {
    // The agent works without this.
  }
}
