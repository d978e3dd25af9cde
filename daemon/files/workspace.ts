import { constants } from "node:fs";
import { type FileHandle, mkdir, open, readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, sep } from "node:path";
import { badRequest, errorCode, Fault } from "../http/http.ts";

// The one gate between a path in a request and the file system. A path never leaves the workspace: not by `..`, not
// absolute, not over a symbolic link, not even when a link is swapped in while we look. On Linux the folder is opened
// first, the kernel is asked where that really is, and all further work goes through the open folder
// (`/proc/self/fd/N/name`, the poor man's openat). Links that stay inside the workspace are followed.
export interface Workspace {
  readonly root: string;
  // The real path of a folder, for a program to start in.
  folderPath(path: string): Promise<string>;
  // Opens whatever is there without reading it; `at` is a path that reaches it, valid until dispose.
  pin(path: string): Promise<Pinned>;
  // Opens the folder that holds the path's last part, which itself may not exist. `at` names that last part and is not
  // yet resolved: use calls that do not follow links. With `makeFolders`, folders on the way are made.
  pinParent(path: string, options?: { makeFolders?: boolean }): Promise<PinnedParent>;
}

export interface Pinned extends AsyncDisposable {
  at: string;
  // Where it really is, relative to the workspace.
  real: string;
}

export interface PinnedParent extends AsyncDisposable {
  at: string;
  folder: string;
}

const LINUX = process.platform === "linux";
// Opens a place in the file system without opening the file: no permission to read is asked, no FIFO blocks.
const O_PATH = 0x200000;
const MAX_PATH_LENGTH = 4096;

export async function openWorkspace(folder: string): Promise<Workspace> {
  await mkdir(folder, { recursive: true });
  const root = await realpath(folder);

  return {
    root,
    async folderPath(path) {
      const real = await realpath(join(root, parsePath(path)));
      relativeInside(root, real);
      return real;
    },
    pin: (path) => pinAt(root, join(root, parsePath(path))),
    async pinParent(path, { makeFolders = false } = {}) {
      const parsed = parsePath(path);
      if (parsed === "") throw badRequest("The workspace folder itself cannot be changed");
      const full = join(root, parsed);
      const parent = makeFolders ? await pinMakingFolders(root, dirname(full)) : await pinAt(root, dirname(full), constants.O_DIRECTORY);
      return { at: join(parent.at, basename(full)), folder: parent.at, [Symbol.asyncDispose]: () => parent[Symbol.asyncDispose]() };
    },
  };
}

// `a/b` stays; "" is the workspace. Anything that could mean another place is refused before the disk is asked.
export function parsePath(path: string): string {
  if (path.length > MAX_PATH_LENGTH) throw badRequest("The path is too long");
  if (path.includes("\0")) throw badRequest("The path holds a NUL character");
  if (path.startsWith("/")) throw outside();
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) throw outside();
  return parts.join("/");
}

async function pinAt(root: string, full: string, flags = 0): Promise<Pinned> {
  if (!LINUX) return pinByName(root, full);
  const handle = await open(full, O_PATH | flags);
  try {
    const at = `/proc/self/fd/${handle.fd}`;
    const real = relativeInside(root, await readlink(at));
    return { at, real, [Symbol.asyncDispose]: () => handle.close() };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

// Walks down from the last folder that exists, making each next one inside the one that is held open.
async function pinMakingFolders(root: string, full: string): Promise<Pinned> {
  try {
    return await pinAt(root, full, constants.O_DIRECTORY);
  } catch (error) {
    if (errorCode(error) !== "ENOENT" || full === root) throw error;
  }
  await using parent = await pinMakingFolders(root, dirname(full));
  await mkdir(join(parent.at, basename(full))).catch((error: unknown) => {
    if (errorCode(error) !== "EEXIST") throw error;
  });
  return await pinAt(root, LINUX ? join(parent.at, basename(full)) : full, constants.O_DIRECTORY);
}

// Without /proc there is a moment between the check and the use. Only the process driver runs on such systems, and it
// promises no isolation.
async function pinByName(root: string, full: string): Promise<Pinned> {
  const at = await realpath(full);
  return { at, real: relativeInside(root, at), [Symbol.asyncDispose]: () => Promise.resolve() };
}

function relativeInside(root: string, real: string): string {
  if (real === root) return "";
  const prefix = root === sep ? sep : root + sep;
  if (!real.startsWith(prefix)) throw outside();
  return real.slice(prefix.length);
}

const outside = () => new Fault(403, "path_outside", "The path leads out of the workspace");

// Makes a rename or a new name in the folder survive a power cut.
export async function syncFolder(folder: string): Promise<void> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
    await handle.sync();
  } catch {
    // A folder that cannot be read cannot be synced; the file itself was.
  } finally {
    await handle?.close();
  }
}
