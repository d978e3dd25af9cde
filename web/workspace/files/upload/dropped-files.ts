import { joinPath } from "../../text/paths.ts";
import type { Upload } from "./send-files.ts";

export interface DroppedItem {
  entry: FileSystemEntry | null;
  file: File | null;
}

// The files of a drop from the desktop, with those in folders.
export async function filesOf(items: readonly DroppedItem[]): Promise<Upload[]> {
  const found = items.map(async ({ entry, file }) => (entry ? filesIn(entry, "") : file ? [{ path: file.name, file }] : []));
  return (await Promise.all(found)).flat();
}

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
