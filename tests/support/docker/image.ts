import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Engine } from "../../../server/drivers/docker/engine.ts";
import { debianRoot } from "./debian-root.ts";

// In the Docker tests, the image of the sandboxes is a small Debian root and nothing else. To unpack it takes seconds, so the first
// Engine's image folders are kept in the cache, and the next Engines start with a copy. The files of layers are hard links, because
// nothing writes to them.
export const IMAGE = "berth-test:1";
const FOLDERS = ["image", "overlay2"];

// Gives an Engine that has not started yet the kept image. No-op if there is none.
export async function copyImage(dataRoot: string): Promise<void> {
  const kept = await keptFolder();
  if (existsSync(kept)) await copyFolders(kept, dataRoot);
}

// Imports the image if the Engine does not have it, and keeps it. An Engine that stores images in other folders imports it every time.
export async function ensureImage(engine: Engine, dataRoot: string): Promise<void> {
  const found = (await engine.call({ method: "GET", path: "/images/json", query: { filters: JSON.stringify({ reference: [IMAGE] }) } }))
    .body;
  if ((found as object[]).length > 0) return;
  const [repo = "", tag = ""] = IMAGE.split(":");
  const tar = await readFile(await debianRoot());
  await engine.call({ method: "POST", path: "/images/create", query: { fromSrc: "-", repo, tag }, tar });
  if (FOLDERS.every((name) => existsSync(join(dataRoot, name)))) await keepImage(dataRoot);
}

async function keepImage(dataRoot: string): Promise<void> {
  const kept = await keptFolder();
  const folder = await mkdtemp(`${kept}-`);
  await copyFolders(dataRoot, folder);
  // Another worker may have been faster.
  await rename(folder, kept).catch(() => rm(folder, { recursive: true }));
  for (const name of await readdir(dirname(kept)))
    if (/^docker-layers-[0-9a-f]+$/.test(name) && name !== basename(kept))
      await rm(join(dirname(kept), name), { recursive: true, force: true });
}

async function keptFolder(): Promise<string> {
  const tar = await debianRoot();
  return join(dirname(tar), basename(tar, ".tar").replace("debian-root", "docker-layers"));
}

async function copyFolders(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  const [images, layers] = FOLDERS.map((name) => join(from, name)) as [string, string];
  await promisify(execFile)("cp", ["-a", images, to]);
  // Links are not possible if the cache is on another file system.
  await promisify(execFile)("cp", ["-al", layers, to]).catch(() => promisify(execFile)("cp", ["-a", layers, to]));
}
