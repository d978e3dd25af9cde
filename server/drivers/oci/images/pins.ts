import { createHash } from "node:crypto";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { readJson, writeJson } from "./json-files.ts";

export interface Pin {
  name: string;
  digest: string;
  // When the name was resolved.
  atMs: number;
}

// The file in which the processes of an installation share what they know about the image with this name.
export const pathOfName = (imagesDir: string, name: string, extension: string): string =>
  join(imagesDir, "pins", `${createHash("sha256").update(name).digest("hex")}.${extension}`);

export const folderOfDigest = (imagesDir: string, digest: string): string => join(imagesDir, digest.replace(":", "-"));

// The digest that each name of an image stands for, in files that `berth template pull` changes while a server runs.
export function createPins(imagesDir: string) {
  const folder = join(imagesDir, "pins");
  const pathOf = (name: string) => pathOfName(imagesDir, name, "json");
  return {
    of: (name: string) => readJson<Pin>(pathOf(name)),
    set: (name: string, digest: string) => writeJson(pathOf(name), { name, digest, atMs: Date.now() } satisfies Pin),
    remove: (name: string) => rmSync(pathOf(name), { force: true }),
    list: (): Pin[] =>
      existsSync(folder)
        ? readdirSync(folder).flatMap((file) => (file.endsWith(".json") ? (readJson<Pin>(join(folder, file)) ?? []) : []))
        : [],
  };
}
