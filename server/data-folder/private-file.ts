import { randomBytes } from "node:crypto";
import { link, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

// Writes a file that only its owner can read. The write is atomic and synced to disk. Creates the folder if needed.
export async function writePrivateFile(path: string, content: string): Promise<void> {
  const temporary = await writeTemporary(path, content);
  await rename(temporary, path);
}

// Like `writePrivateFile`, but never replaces a file. Returns true if it created the file and false if the file existed, so
// exactly one of several processes gets true.
export async function createPrivateFile(path: string, content: string): Promise<boolean> {
  const temporary = await writeTemporary(path, content);
  try {
    await link(temporary, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return false;
  } finally {
    await rm(temporary);
  }
}

async function writeTemporary(path: string, content: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${randomBytes(6).toString("hex")}`;
  const file = await open(temporary, "wx", 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  return temporary;
}
