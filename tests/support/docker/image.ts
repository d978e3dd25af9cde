import { readFile } from "node:fs/promises";
import type { Engine } from "../../../server/drivers/docker/engine.ts";
import { debianRoot } from "./debian-root.ts";

// In the Docker tests, the image of the sandboxes is a small Debian root and nothing else.
export async function importImage(engine: Engine, image: string): Promise<void> {
  const [repo = "", tag = ""] = image.split(":");
  const tar = await readFile(await debianRoot());
  await engine.call({ method: "POST", path: "/images/create", query: { fromSrc: "-", repo, tag }, tar });
}
