// `npm run lock`: regenerates package-lock.json from nothing, and completes it so that `npm ci` accepts it everywhere.
//
// npm omits every platform package from the lockfile that the current registry does not have. `npm ci` then refuses
// the lockfile, and `npm install` rewrites it on a machine with another registry. So we add the missing entries: name,
// version and platform, without an address or a checksum. npm skips entries of other platforms without fetching them.
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { platformOf } from "./platform-packages.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const path = join(root, "package-lock.json");

rmSync(path, { force: true });
rmSync(join(root, "node_modules"), { recursive: true, force: true });
const { status } = spawnSync("npm", ["install", "--package-lock-only", "--ignore-scripts", "--loglevel=error"], {
  cwd: root,
  stdio: "inherit",
});
if (status !== 0) process.exit(status ?? 1);

const lock = JSON.parse(readFileSync(path, "utf8"));
const locked = new Set(Object.keys(lock.packages).map((place) => place.split("node_modules/").at(-1)));
for (const { optionalDependencies = {}, dev } of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    if (locked.has(name)) continue;
    const platform = platformOf(name);
    if (!platform) throw new Error(`${name} is missing where we install from, and its name does not say for which platform it is`);
    // In npm's own order of keys: it would rewrite the file otherwise.
    const { cpu, libc, os } = platform;
    lock.packages[`node_modules/${name}`] = { version, cpu, ...(dev && { dev }), ...(libc && { libc }), optional: true, os };
    locked.add(name);
    console.error(`berth: added ${name} ${version}, which the registry lacks`);
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, "en")));
writeFileSync(path, `${JSON.stringify(lock, undefined, 2)}\n`);
