import type { Workspace } from "../workspace.ts";
import { joinPath } from "../parts/paths.ts";

export const isFileDrag = (data: DataTransfer): boolean => data.types.includes("Files");

// Files and whole folders that were dropped from the desktop. What is already there is replaced only after a question.
export async function uploadDropped(workspace: Workspace, data: DataTransfer, folder: string): Promise<void> {
  const { notices, files, dialogs } = workspace;
  // The list is empty as soon as the event is over, so entries are taken before anything is awaited.
  const items = [...data.items].map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  const found = (
    await Promise.all(items.map(async ({ entry, file }) => (entry ? filesIn(entry, "") : file ? [{ path: file.name, file }] : [])))
  ).flat();
  if (found.length === 0) return;
  await files.load(folder);
  const there = found.filter(({ path }) => files.entry(joinPath(folder, path)) !== undefined);
  if (there.length > 0 && !(await dialogs.confirm("Replace existing files?", there.map(({ path }) => path).join(", "), "Replace"))) return;
  const uploaded = await notices.attempt("Could not upload", () => files.upload(folder, found, () => {}));
  if (uploaded) notices.info(found.length === 1 ? `Uploaded ${found[0]?.path}` : `Uploaded ${found.length} files`);
}

async function filesIn(entry: FileSystemEntry, folder: string): Promise<{ path: string; file: File }[]> {
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
