import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { inject } from "vitest";
import type { Engine } from "../../../server/drivers/docker/engine.ts";

const POLL_MS = 200;

// Why there is no Debian root for the sandboxes' image; undefined when there is one. Waits for one that is being made, so
// it is asked while a file's tests are collected: there no time limit of a test or hook runs.
export async function imageMissing(): Promise<string | undefined> {
  const root = inject("debianRoot");
  if (!root) return "the image's Debian root is made in the Vitest project `docker` alone";
  for (; ; await sleep(POLL_MS)) {
    const outcome = await readFile(root.outcome, "utf8").catch(() => null);
    if (outcome !== null) return outcome || undefined;
  }
}

// The sandboxes' image in the Docker tests is that root and nothing else.
export async function importImage(engine: Engine, image: string): Promise<void> {
  const [repo = "", tag = ""] = image.split(":");
  const tar = await readFile(inject("debianRoot").tar);
  await engine.call({ method: "POST", path: "/images/create", query: { fromSrc: "-", repo, tag }, tar });
}
