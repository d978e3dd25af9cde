import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog } from "../../../server/log.ts";
import { openStore, type Store, type StoreOptions } from "../../../server/store/open.ts";

let content: Promise<Buffer> | undefined;

// Writes an SQLite database with the current schema and no rows. Migrating a new one takes ten times as long.
export async function writeMigratedDatabase(file: string): Promise<void> {
  await writeFile(file, await (content ??= migrate()), { mode: 0o600 });
}

// Opens a new store. An SQLite database that does not exist is written as above.
export async function openMigratedStore(options: StoreOptions): Promise<Store> {
  if (!options.url && !existsSync(options.file)) await writeMigratedDatabase(options.file);
  return openStore(options);
}

async function migrate(): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), "berth-migrated-"));
  const file = join(folder, "berth.db");
  await (await openStore({ file, log: silentLog }))[Symbol.asyncDispose]();
  const bytes = await readFile(file);
  await rm(folder, { recursive: true });
  return bytes;
}
