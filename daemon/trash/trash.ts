import type { TrashedFiles } from "@berth/contract/daemon.ts";
import { AppError } from "@berth/contract/errors.ts";
import { cp, lstat, rm } from "node:fs/promises";
import { parsePath, syncFolder, type PinnedParent, type WorkspaceFolder } from "../files/workspace-folder.ts";
import { isStringArray, readJson, requiredText } from "../http/body.ts";
import { badRequest, notFound } from "../http/errors.ts";
import { sendJson } from "../http/reply.ts";
import type { Route } from "../http/route.ts";
import { measure } from "./measure.ts";
import { openTrashFolder, type TrashLimits } from "./trash-folder.ts";

export interface TrashDeps {
  workspace: WorkspaceFolder;
  // Outside the workspace, where no program of the user stumbles over the deleted files.
  folder: string;
  limits?: TrashLimits;
}

const LIMITS: TrashLimits = {
  itemBytes: 64 * 1024 * 1024,
  itemFiles: 10_000,
  totalBytes: 256 * 1024 * 1024,
  ageMs: 24 * 60 * 60 * 1000,
};
const MAX_PATHS = 1000;

// Deletes files so that the deletion can be undone. The workspace and the trash are different mounts of one volume, so files
// are copied rather than renamed (docs/decisions/0040-deleted-files-are-copied.md).
export function trashRoutes({ workspace, folder, limits = LIMITS }: TrashDeps): Route[] {
  const trash = openTrashFolder(folder, limits);
  // One at a time, so that the trash never holds more than its limit.
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = last.then(work);
    last = result.catch(() => {});
    return result;
  };

  return [
    {
      method: "POST",
      path: "/files/trash",
      async handle({ request, response }) {
        const { paths } = await readJson(request);
        const wanted = parsePaths(paths);
        sendJson(response, 201, { id: await inTurn(() => discard(wanted)), paths: wanted } satisfies TrashedFiles);
      },
    },
    {
      method: "POST",
      path: "/files/restore",
      async handle({ request, response }) {
        const id = requiredText((await readJson(request))["id"], "id");
        sendJson(response, 200, { id, paths: await inTurn(() => restore(id)) } satisfies TrashedFiles);
      },
    },
  ];

  async function discard(paths: string[]): Promise<string> {
    await using stack = new AsyncDisposableStack();
    const sources: PinnedParent[] = [];
    for (const path of paths) sources.push(stack.use(await workspace.pinParent(path)));
    const size = await measure(
      sources.map(({ at }) => at),
      limits,
    );
    if (size === null) throw new AppError("too_large", { message: "This is too large for the trash" });
    const item = await trash.add(size.bytes);
    try {
      for (const [i, source] of sources.entries()) await copyTree(source.at, item.at(i));
      await item.finish(paths);
    } catch (error) {
      await trash.remove(item.id);
      throw error;
    }
    for (const source of sources) await rm(source.at, { recursive: true, force: true });
    return item.id;
  }

  async function restore(id: string): Promise<string[]> {
    const item = await trash.find(id);
    if (item === null) throw notFound("This is no longer in the trash");
    await using stack = new AsyncDisposableStack();
    const targets: PinnedParent[] = [];
    for (const path of item.paths) targets.push(stack.use(await workspace.pinParent(path, { makeFolders: true })));
    for (const target of targets) if (await lstat(target.at).catch(() => null)) throw new AppError("exists");
    try {
      for (const [i, target] of targets.entries()) {
        await copyTree(item.at(i), target.at);
        await syncFolder(target.folder);
      }
    } catch (error) {
      // The disk is full. The trash still has everything.
      for (const target of targets) await rm(target.at, { recursive: true, force: true });
      throw error;
    }
    await trash.remove(id);
    return item.paths;
  }
}

function parsePaths(paths: unknown): string[] {
  if (!isStringArray(paths) || paths.length === 0 || paths.length > MAX_PATHS)
    throw badRequest(`paths must be a list of 1 to ${MAX_PATHS} strings`);
  const parsed = [...new Set(paths.map(parsePath))];
  return parsed.filter((path) => !parsed.some((other) => path.startsWith(`${other}/`)));
}

// Sockets, FIFOs and devices have no content to keep.
async function copyTree(from: string, to: string): Promise<void> {
  const filter = async (path: string) => {
    const stats = await lstat(path);
    return stats.isFile() || stats.isDirectory() || stats.isSymbolicLink();
  };
  await cp(from, to, { recursive: true, errorOnExist: true, force: false, verbatimSymlinks: true, preserveTimestamps: true, filter });
}
