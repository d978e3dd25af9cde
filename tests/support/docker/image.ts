import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { inject } from "vitest";
import type { Engine } from "../../../server/drivers/docker/engine.ts";

const POLL_MS = 200;

// The reason why there is no Debian root for the sandboxes' image, or undefined. It waits until the root is made, so call it
// while tests are collected, when no time limit applies.
export async function imageMissing(): Promise<string | undefined> {
  const root = inject("debianRoot");
  if (!root) return "the image's Debian root is made in the Vitest project `docker` alone";
  for (; ; await sleep(POLL_MS)) {
    const outcome = await readFile(root.outcome, "utf8").catch(() => null);
    if (outcome !== null) return outcome || undefined;
  }
}

// In the Docker tests, the image of the sandboxes is that root and nothing else.
export async function importImage(engine: Engine, image: string): Promise<void> {
  const [repo = "", tag = ""] = image.split(":");
  const tar = await readFile(inject("debianRoot").tar);
  await engine.call({ method: "POST", path: "/images/create", query: { fromSrc: "-", repo, tag }, tar });
}
