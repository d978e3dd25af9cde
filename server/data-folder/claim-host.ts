import { randomBytes } from "node:crypto";
import { access, chmod, constants, mkdir, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { readFileIfExists } from "../bounded-io/read-small-file.ts";
import { lockDataFolder } from "./data-folder-lock.ts";
import { writePrivateFile } from "./private-file.ts";

// The claim of one server to its data folder. The name is stored in the folder, so that the server recognises its sandboxes after
// a restart, even if the machine's host name has changed.
export interface Host extends AsyncDisposable {
  name: string;
}

// Locks the data folder. Rejects if another server uses it.
export async function claimHost(dataDir: string): Promise<Host> {
  await requireFolder(dataDir);
  await closeToOthers(dataDir);
  await using opening = new AsyncDisposableStack();
  opening.use(await lockDataFolder(dataDir));
  const name = await readOrCreateName(dataDir);
  const opened = opening.move();
  return { name, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

// Rejects with a sentence where later steps would fail with an error of the system.
async function requireFolder(dataDir: string): Promise<void> {
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    await access(dataDir, USABLE);
  } catch (error) {
    throw new Error(`The data folder ${dataDir} cannot be used: ${reasonOf(error)} ${CURE}`, { cause: error });
  }
  for (const name of ["berth.db", "host-name", "sandboxes"])
    await access(join(dataDir, name), constants.R_OK | constants.W_OK).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
      throw new Error(`${join(dataDir, name)} cannot be used: ${reasonOf(error)} ${CURE}`, { cause: error });
    });
}

// It may have been created by hand, and not every file in it is private by itself.
async function closeToOthers(dataDir: string): Promise<void> {
  const { mode, uid } = await stat(dataDir);
  if (uid === process.getuid?.() && (mode & 0o007) !== 0) await chmod(dataDir, mode & 0o770);
}

const USABLE = constants.R_OK | constants.W_OK | constants.X_OK;
const CURE = "Give the folder with its files to the user that runs the server, or set BERTH_DATA_DIR to another folder.";

const REASONS: Record<string, string> = {
  EEXIST: "it is a file.",
  ENOTDIR: "a part of its path is a file.",
  EROFS: "its file system is read-only.",
  EACCES: "this user may not read and write it.",
  EPERM: "this user may not read and write it.",
  ENOSPC: "its disk is full.",
};

function reasonOf(error: unknown): string {
  const { code = "", message } = error as NodeJS.ErrnoException;
  return REASONS[code] ?? `${message}.`;
}

export const hostNameFile = (dataDir: string) => join(dataDir, "host-name");

async function readOrCreateName(dataDir: string): Promise<string> {
  const file = hostNameFile(dataDir);
  const stored = await readFileIfExists(file);
  if (stored !== undefined) return stored.trim();
  const name = `${hostname()}-${randomBytes(4).toString("hex")}`;
  await writePrivateFile(file, `${name}\n`);
  return name;
}
