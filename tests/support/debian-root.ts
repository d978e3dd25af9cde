import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

// The Debian root that scripts/debian-root.mjs makes, as a tar file.
const repository = join(import.meta.dirname, "../..");
const recipe = createHash("sha256")
  .update(readFileSync(join(repository, "scripts/debian-root.mjs")))
  .digest("hex");
const file = join(repository, `node_modules/.cache/berth/debian-root-${recipe.slice(0, 16)}.tar`);

// Why there is no root; undefined when there is one, or one is being made.
export function debianRootMissing(): string | undefined {
  if (existsSync(file) || isBeingMade()) return undefined;
  if (existsSync(`${file}.log`)) return `mmdebstrap failed: ${readFileSync(`${file}.log`, "utf8").trim().split("\n").at(-1)}`;
  return "no Debian root was made (mmdebstrap is not installed, or set-up did not run as root)";
}

// Waits for one that is being made, so long and no longer.
export async function findDebianRoot(atMostMs: number): Promise<string | null> {
  for (const endMs = performance.now() + atMostMs; isBeingMade() && performance.now() < endMs;) await sleep(200);
  return existsSync(file) ? file : null;
}

function isBeingMade(): boolean {
  try {
    process.kill(Number(readFileSync(`${file}.pid`, "utf8")), 0);
    return true;
  } catch {
    return false;
  }
}
