import type { Workspace } from "../state/workspace.ts";
import { joinPath } from "../text/paths.ts";
import type { Upload } from "../state/sandbox/files.ts";

export const isFileDrag = (data: DataTransfer): boolean => data.types.includes("Files");

// Files and whole folders that were dropped from the desktop. What is already there is replaced only after a question.
export async function uploadDropped(workspace: Workspace, data: DataTransfer, folder: string): Promise<void> {
  const { notices, files, dialogs } = workspace;
  // The list is empty as soon as the event is over, so entries are taken before anything is awaited.
  const items = [...data.items].map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  await notices.attempt("Could not upload", async () => {
    const found = (
      await Promise.all(items.map(async ({ entry, file }) => (entry ? filesIn(entry, "") : file ? [{ path: file.name, file }] : [])))
    ).flat();
    const there = await files.upload(folder, found, { replace: false });
    const replacing = there.length > 0 && (await dialogs.confirm("Replace existing files?", namesOf(there), "Replace"));
    if (replacing) await files.upload(folder, there, { replace: true });
    const count = found.length - (replacing ? 0 : there.length);
    if (count > 0)
      notices.info(found.length === 1 ? `Uploaded ${found[0]?.path}` : count === 1 ? "Uploaded 1 file" : `Uploaded ${count} files`);
  });
}

const MOST_NAMES = 10;

const namesOf = (uploads: Upload[]): string =>
  uploads
    .slice(0, MOST_NAMES)
    .map(({ path }) => path)
    .join(", ") + (uploads.length > MOST_NAMES ? ` and ${uploads.length - MOST_NAMES} more` : "");

async function filesIn(entry: FileSystemEntry, folder: string): Promise<Upload[]> {
  const path = joinPath(folder, entry.name);
  if (isFile(entry)) return [{ path, file: await new Promise<File>((resolve, reject) => entry.file(resolve, reject)) }];
  const children = await readAll((entry as FileSystemDirectoryEntry).createReader());
  return (await Promise.all(children.map((child) => filesIn(child, path)))).flat();
}

// A reader gives at most a hundred entries at a time and says with an empty list that there are no more.
async function readAll(reader: FileSystemDirectoryReader): Promise<FileSystemEntry[]> {
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return all;
    all.push(...some);
  }
}

const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile;
