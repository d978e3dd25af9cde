import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { readFileIfExists } from "../bounded-io/read-small-file.ts";
import { ConfigError, type Config } from "../config/config.ts";
import { createPrivateFile } from "../data-folder/private-file.ts";

export const MASTER_KEY_FILE = "master-key";

// The keys that everything secret is derived from, newest first: the first closes and signs, all of them open and verify.
// Without a configured one, the first start makes one in the data folder.
export async function loadMasterKeys(config: Pick<Config, "masterKeys" | "dataDir">): Promise<readonly Buffer[]> {
  if (config.masterKeys) return config.masterKeys;
  const file = join(config.dataDir, MASTER_KEY_FILE);
  const found = await readIfThere(file);
  if (found !== undefined) return [parse(found, file)];
  // Several servers may start at once on a new folder: whoever made the file, all read the same.
  await createPrivateFile(file, `${randomBytes(32).toString("hex")}\n`);
  return [parse(await readFile(file, "utf8"), file)];
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFileIfExists(file);
  } catch (error) {
    throw new ConfigError([`The master key ${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`]);
  }
}

function parse(content: string, file: string): Buffer {
  const text = content.trim();
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, "hex");
  throw new ConfigError([
    `The master key ${file} has ${text.length} characters; allowed: 64 hexadecimal characters. Restore it from a backup: what is stored cannot be opened without it.`,
  ]);
}
