import { constants, mkdirSync, realpathSync } from "node:fs";
import { type FileHandle, mkdir, open, readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, normalize, sep } from "node:path";
import { AppError } from "@berth/contract/errors.ts";
import { badRequest, systemCode } from "../http/errors.ts";

// Every path in a request reaches the file system through this interface. A path cannot leave the workspace: not through
// `..`, not as an absolute path, not through a symbolic link, and not by replacing a folder with a link during the request.
// On Linux the folder is opened first, the kernel reports its real path, and all further work goes through the open
// descriptor (`/proc/self/fd/N/name`, in place of openat). Links that stay inside the workspace are followed.
export interface WorkspaceFolder {
  readonly root: string;
  // The real path of a folder, for use as a working directory.
  folderPath(path: string): Promise<string>;
  // Opens the file or folder without reading it. `at` is a path to it that stays valid until dispose.
  pin(path: string): Promise<Pinned>;
  // Opens the parent folder of a path that may not exist. `at` is the path itself, unresolved: use only calls that do not
  // follow links. With `makeFolders`, missing parent folders are created.
  pinParent(path: string, options?: { makeFolders?: boolean }): Promise<PinnedParent>;
}

export interface Pinned extends AsyncDisposable {
  at: string;
  // The resolved path, relative to the workspace.
  real: string;
}

export interface PinnedParent extends AsyncDisposable {
  at: string;
  folder: string;
  // The absolute path.
  full: string;
}

const LINUX = process.platform === "linux";
// Gets a descriptor without opening the file itself: it needs no read permission, and a FIFO does not block.
const O_PATH = 0x200000;
const MAX_PATH_LENGTH = 4096;

// Synchronous, because nothing else waits at the start of the daemon, and the first asynchronous call makes Node start four threads.
export function openWorkspaceFolder(folder: string): WorkspaceFolder {
  mkdirSync(folder, { recursive: true });
  return folderAt(realpathSync.native(folder), parsePath);
}

// All files of the sandbox: paths are relative to the home, or absolute, and `real` is absolute. For callers that may run any program.
export function openSandboxFolder(home: string): WorkspaceFolder {
  const parse = (path: string): string => {
    const words = path.replace(/^~(?=\/|$)/, home);
    return parsePath(normalize(join(words.startsWith("/") ? "/" : home, words)).slice(1));
  };
  const inside = folderAt("/", parse);
  return {
    ...inside,
    async pin(path) {
      const pinned = await inside.pin(path);
      return { ...pinned, real: `/${pinned.real}` };
    },
  };
}

function folderAt(root: string, parse: (path: string) => string): WorkspaceFolder {
  return {
    root,
    async folderPath(path) {
      const full = join(root, parse(path));
      // The usual case. The folder is on the sandbox's own disk, so this never waits for long.
      const real = path === "" ? realpathSync.native(full) : await realpath(full);
      relativeInside(root, real);
      return real;
    },
    pin: (path) => pinAt(root, join(root, parse(path))),
    async pinParent(path, { makeFolders = false } = {}) {
      const parsed = parse(path);
      if (parsed === "")
        throw badRequest(root === sep ? "The folder / cannot be changed" : "The workspace folder itself cannot be changed");
      const full = join(root, parsed);
      const parent = makeFolders ? await pinMakingFolders(root, dirname(full)) : await pinAt(root, dirname(full), constants.O_DIRECTORY);
      const close = () => parent[Symbol.asyncDispose]();
      const name = basename(full);
      return { at: join(parent.at, name), folder: parent.at, full: join(root, parent.real, name), [Symbol.asyncDispose]: close };
    },
  };
}

// Normalizes a relative path; "" is the workspace. Paths that could lead elsewhere are refused without any file access.
export function parsePath(path: string): string {
  if (path.length > MAX_PATH_LENGTH) throw badRequest("The path is too long");
  if (path.includes("\0")) throw badRequest("The path contains a NUL character");
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

// Creates each missing folder inside its open parent, starting at the deepest folder that exists.
async function pinMakingFolders(root: string, full: string): Promise<Pinned> {
  try {
    return await pinAt(root, full, constants.O_DIRECTORY);
  } catch (error) {
    if (systemCode(error) !== "ENOENT" || full === root) throw error;
  }
  await using parent = await pinMakingFolders(root, dirname(full));
  await mkdir(join(parent.at, basename(full))).catch((error: unknown) => {
    if (systemCode(error) !== "EEXIST") throw error;
  });
  return await pinAt(root, LINUX ? join(parent.at, basename(full)) : full, constants.O_DIRECTORY);
}

// Without /proc there is a race between the check and the use. Only the process driver runs on such systems, and it
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

const outside = () => new AppError("path_outside");

// Makes a rename or a new entry in the folder survive a power failure.
export async function syncFolder(folder: string): Promise<void> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
    await handle.sync();
  } catch {
    // A folder without read permission cannot be synced, but the file itself has been.
  } finally {
    await handle?.close();
  }
}
