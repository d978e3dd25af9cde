import type { Workspace } from "../state/workspace.ts";
import { joinPath } from "../text/paths.ts";
import type { Upload } from "../state/sandbox/files.ts";

export const isFileDrag = (data: DataTransfer): boolean => data.types.includes("Files");

// Lets the person choose files to upload.
export function pickAndUpload(workspace: Workspace, folder: string): void {
  const input = document.createElement("input");
  input.type = "file";
  input.multiple = true;
  input.addEventListener("change", () => {
    const picked = [...(input.files ?? [])].map((file) => ({ path: file.name, file }));
    void workspace.notices.attempt("Could not upload", () => uploadAll(workspace, picked, folder));
  });
  input.click();
}

// Uploads files and folders dropped from the desktop.
export async function uploadDropped(workspace: Workspace, data: DataTransfer, folder: string): Promise<void> {
  // The browser empties the list when the event ends, so read it before the first await.
  const items = [...data.items].map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  await workspace.notices.attempt("Could not upload", async () => {
    const found = (
      await Promise.all(items.map(async ({ entry, file }) => (entry ? filesIn(entry, "") : file ? [{ path: file.name, file }] : [])))
    ).flat();
    await uploadAll(workspace, found, folder);
  });
}

// Asks before it replaces existing files.
async function uploadAll({ notices, files, dialogs }: Workspace, found: Upload[], folder: string): Promise<void> {
  const existing = await files.upload(folder, found, { replace: false });
  const replacing = existing.length > 0 && (await dialogs.confirm("Replace existing files?", namesOf(existing), "Replace"));
  if (replacing) await files.upload(folder, existing, { replace: true });
  const count = found.length - (replacing ? 0 : existing.length);
  if (count > 0)
    notices.info(found.length === 1 ? `Uploaded ${found[0]?.path}` : count === 1 ? "Uploaded 1 file" : `Uploaded ${count} files`);
}

const MAX_NAMES = 10;

const namesOf = (uploads: Upload[]): string =>
  uploads
    .slice(0, MAX_NAMES)
    .map(({ path }) => path)
    .join(", ") + (uploads.length > MAX_NAMES ? ` and ${uploads.length - MAX_NAMES} more` : "");

async function filesIn(entry: FileSystemEntry, folder: string): Promise<Upload[]> {
  const path = joinPath(folder, entry.name);
  if (isFile(entry)) return [{ path, file: await new Promise<File>((resolve, reject) => entry.file(resolve, reject)) }];
  const children = await readAll((entry as FileSystemDirectoryEntry).createReader());
  return (await Promise.all(children.map((child) => filesIn(child, path)))).flat();
}

// A reader returns at most 100 entries at a time, and an empty list at the end.
async function readAll(reader: FileSystemDirectoryReader): Promise<FileSystemEntry[]> {
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return all;
    all.push(...some);
  }
}

const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile;
