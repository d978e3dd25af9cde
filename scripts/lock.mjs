// `npm run lock`: regenerates package-lock.json from nothing, and fails if it does not pin every package of every platform.
//
// npm leaves out the platform packages that the current registry does not have, which are often those of the newest versions.
// `npm ci` refuses such a lockfile where the registry has them. So choose versions that are complete.
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { unpinned } from "./platform-packages.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const path = join(root, "package-lock.json");

rmSync(path, { force: true });
rmSync(join(root, "node_modules"), { recursive: true, force: true });
// Without addresses, so that the lockfile works with every registry.
const flags = ["--package-lock-only", "--ignore-scripts", "--omit-lockfile-registry-resolved", "--loglevel=error"];
const { status } = spawnSync("npm", ["install", ...flags], { cwd: root, stdio: "inherit" });
if (status !== 0) process.exit(status ?? 1);

const missing = unpinned(JSON.parse(readFileSync(path, "utf8")));
if (missing.length > 0) {
  console.error(`berth: the registry lacks ${missing.join(", ")}. Choose versions whose packages it has for every platform.`);
  process.exit(1);
}
