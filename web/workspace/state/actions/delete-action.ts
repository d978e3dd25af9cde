import { ApiError } from "../../connection/api.ts";
import { nameOf, parentOf } from "../../text/paths.ts";
import type { FileChangeDone } from "../page/file-history.ts";
import type { Workspace } from "../workspace.ts";

// Deletes files and folders at once, because it can be undone. Asks only if the trash cannot keep them.
export async function deletePaths(workspace: Workspace, paths: readonly string[]): Promise<void> {
  const { notices, files, fileHistory, tree } = workspace;
  const [first] = paths;
  if (first === undefined) return;
  const text = `Deleted ${paths.length === 1 ? nameOf(first) : `${paths.length} items`}`;
  const remove = async () => {
    const trashed = await files.trash(paths).catch((error: unknown) => {
      if (isUnkeepable(error)) return null;
      throw error;
    });
    if (trashed === null) return deleteForever(workspace, paths);
    const change: FileChangeDone = {
      text,
      undo() {
        notices.dismiss(offer);
        return tree.selectResult(() => files.restore(trashed));
      },
    };
    fileHistory.add(change);
    const offer = notices.offer(`${text}.`, { label: "Undo", run: () => void undo(workspace, change) });
  };
  await fileHistory.run(() => notices.attempt(`Could not delete ${paths.length === 1 ? first : `${paths.length} items`}`, remove));
}

export async function undoLast(workspace: Workspace): Promise<void> {
  await workspace.fileHistory.settled();
  const change = workspace.fileHistory.last();
  if (change) await undo(workspace, change);
}

async function undo({ notices, fileHistory }: Workspace, change: FileChangeDone): Promise<void> {
  if (!fileHistory.take(change)) return;
  if (!(await notices.attempt(`Could not undo "${change.text}"`, change.undo))) fileHistory.add(change);
}

const MAX_NAMES = 10;

async function deleteForever({ dialogs, files }: Workspace, paths: readonly string[]): Promise<void> {
  const isDirectory = (path: string) => files.entryAt(path)?.type === "folder";
  const described = paths.slice(0, MAX_NAMES).map((path) => (isDirectory(path) ? `the folder ${path} and everything in it` : path));
  const rest = paths.length > MAX_NAMES ? ` and ${paths.length - MAX_NAMES} more` : "";
  const title = paths.length === 1 ? `Delete ${nameOf(paths[0] ?? "")} permanently?` : `Delete ${paths.length} items permanently?`;
  const text = `This deletes ${described.join(", ")}${rest}. It is too large to keep a copy, so you cannot undo this.`;
  if (!(await dialogs.confirm(title, text, "Delete"))) return;
  for (const path of paths) await files.remove(path);
  await Promise.all([...new Set(paths.map(parentOf))].map(files.reload));
}

// Too large, or there is no room on the disk.
const isUnkeepable = (error: unknown) => error instanceof ApiError && (error.code === "too_large" || error.code === "disk_full");
