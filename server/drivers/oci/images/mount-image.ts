import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { unmount } from "../../host/mounts.ts";
import { mountMapped } from "../../host/named-volumes/mount-mapped.ts";
import type { UserNamespace } from "../users/user-namespace.ts";
import type { ImageRoot } from "./image-store.ts";

const pointOf = (folder: string) => join(folder, "image-root");

// Mounts the files of an image with the ids of the sandbox in `folder`, and returns the path. Files of the image's root and of its user
// belong to the sandbox's root and user, and all others to the user nobody. For a server without root, or if the kernel cannot do this
// here, only the files of the server's own user have an owner in the sandbox. All others belong to the user nobody.
export async function mountImage(folder: string, { root }: ImageRoot, userNamespace: UserNamespace | undefined): Promise<string> {
  if (!userNamespace || userNamespace.enter) return root;
  // An earlier start may have mounted another image.
  await unmountImage(folder);
  mkdirSync(pointOf(folder), { recursive: true, mode: 0o700 });
  try {
    await mountMapped(root, pointOf(folder), { mode: "ro", userNamespace: userNamespace.path });
    return pointOf(folder);
  } catch {
    return root;
  }
}

// No-op if there is nothing to unmount.
export async function unmountImage(folder: string): Promise<void> {
  if (existsSync(pointOf(folder))) await unmount(pointOf(folder));
}
