import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

interface Desktop {
  platform: NodeJS.Platform;
  env: Record<string, string | undefined>;
  isTerminal: boolean;
  uid: number | undefined;
}

const here = (): Desktop => ({
  platform: process.platform,
  env: process.env,
  isTerminal: process.stdout.isTTY,
  uid: process.getuid?.(),
});

// The program that opens a URL in the browser of the person at this terminal; null if there is none. Never on a server, in CI, or
// for root, whose browser would run with all privileges.
export function findBrowserOpener({ platform, env, isTerminal, uid }: Desktop = here()): string | null {
  if (!isTerminal || uid === 0 || env.CI || env.SSH_CONNECTION || env.SSH_TTY) return null;
  if (platform === "darwin") return "open";
  const hasScreen = env.DISPLAY || env.WAYLAND_DISPLAY;
  return platform === "linux" && hasScreen && isOnPath("xdg-open", env.PATH) ? "xdg-open" : null;
}

// Returns whether a browser was started. It does not wait for it.
export function openInBrowser(url: string): boolean {
  const opener = findBrowserOpener();
  if (opener === null) return false;
  const child = spawn(opener, [url], { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
  return true;
}

const isOnPath = (name: string, path = ""): boolean =>
  path.split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
