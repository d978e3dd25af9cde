import { existsSync, readdirSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { SandboxSpec } from "../../driver.ts";
import type { ImageRoot, ImageStore } from "./image-store.ts";

const NAME = "image";

// The image that each sandbox and each snapshot of one uses, as a link `digest name` in its folder. A sandbox keeps its image, or that of its
// snapshot, as long as it asks for the same name, whatever that name stands for now: its files may depend on it.
export function createUsedImages(parents: readonly string[], images: ImageStore) {
  function read(folder: string): { digest: string; name: string } | undefined {
    try {
      const [digest = "", name = ""] = readlinkSync(join(folder, NAME)).split(" ");
      return { digest, name };
    } catch {
      return undefined;
    }
  }

  function write(folder: string, used: { digest: string; name: string } | undefined): void {
    rmSync(join(folder, NAME), { force: true });
    if (used) symlinkSync(`${used.digest} ${used.name}`, join(folder, NAME));
  }

  return {
    read,
    // undefined: the sandbox has no image. Throws if the image is not here yet.
    choose(folder: string, snapshotFolder: string | undefined, spec: SandboxSpec): ImageRoot | undefined {
      const name = nameIn(spec);
      if (name === undefined) return undefined;
      const before = read(folder) ?? (snapshotFolder === undefined ? undefined : read(snapshotFolder));
      return (before?.name === name ? images.find(name, before.digest) : undefined) ?? images.require(name);
    },
    record: (folder: string, spec: SandboxSpec, image: ImageRoot | undefined): void =>
      write(folder, image && { digest: image.digest, name: nameIn(spec) ?? "" }),
    copy: (from: string, to: string): void => write(to, read(from)),
    digests(): Set<string> {
      const folders = parents.flatMap((parent) => (existsSync(parent) ? readdirSync(parent).map((name) => join(parent, name)) : []));
      return new Set(folders.flatMap((folder) => read(folder)?.digest ?? []));
    },
  };
}

const nameIn = ({ image, template }: SandboxSpec): string | undefined => image ?? template.image;
