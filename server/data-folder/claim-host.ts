import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
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
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await using opening = new AsyncDisposableStack();
  opening.use(await lockDataFolder(dataDir));
  const name = await readOrCreateName(dataDir);
  const opened = opening.move();
  return { name, [Symbol.asyncDispose]: () => opened.disposeAsync() };
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
