// Builds the two parts that are not run as written: the daemon's bundle and the browser app. A part is built only when
// its sources have changed since the last time.
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

await buildPart("daemon", async () => (await import("../daemon/build.ts")).buildDaemon());
if (existsSync(join(root, "web/vite.config.ts"))) await buildPart("web", buildWeb);

async function buildPart(folder: string, build: () => Promise<void>): Promise<void> {
  const stamp = join(root, folder, "dist/.sources");
  const wanted = fingerprint([`${folder}/**/*`, "contract/*.ts", "package-lock.json"]);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  process.stderr.write(`berth: building ${folder}\n`);
  await build();
  writeFileSync(stamp, wanted);
}

function fingerprint(patterns: string[]): string {
  const hash = createHash("sha256");
  const files = globSync(patterns, {
    cwd: root,
    withFileTypes: true,
    exclude: (entry) => entry.name === "dist" || entry.name === "node_modules",
  })
    .filter((entry) => entry.isFile() && !/\.test\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  for (const file of files) hash.update(file.slice(root.length)).update("\0").update(readFileSync(file));
  return hash.digest("hex");
}

async function buildWeb(): Promise<void> {
  const { build } = await import("vite");
  await build({ root: join(root, "web"), logLevel: "warn" });
}
