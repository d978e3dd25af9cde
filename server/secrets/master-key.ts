import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { readFileIfExists } from "../bounded-io/read-small-file.ts";
import { ConfigError, type Config } from "../config/config.ts";
import { createPrivateFile } from "../data-folder/private-file.ts";

export const MASTER_KEY_FILE = "master-key";

// The keys from which all others are derived, newest first: the first encrypts and signs, all of them decrypt and verify.
// Without a configured key, the first start generates one in the data folder. A missing key of a store that is in use is never
// replaced: its secrets could not be decrypted any more, not even after the file has come back.
export async function loadMasterKeys(
  config: Pick<Config, "masterKeys" | "dataDir">,
  { isNewStore }: { isNewStore: boolean },
): Promise<readonly Buffer[]> {
  if (config.masterKeys) return config.masterKeys;
  const file = join(config.dataDir, MASTER_KEY_FILE);
  const existing = await readKeyFile(file);
  if (existing !== undefined) return [parseKey(existing, file)];
  if (!isNewStore)
    throw new ConfigError([
      `The master key ${file} is missing, but the store was used with it. Restore the file from a backup, or set BERTH_MASTER_KEY to the key that it contained.`,
    ]);
  // Several servers may start at once on a new folder: one of them creates the file, and all read it.
  await createPrivateFile(file, `${randomBytes(32).toString("hex")}\n`);
  return [parseKey(await readFile(file, "utf8"), file)];
}

async function readKeyFile(file: string): Promise<string | undefined> {
  try {
    return await readFileIfExists(file);
  } catch (error) {
    throw new ConfigError([
      `The master key ${file} cannot be read (${(error as NodeJS.ErrnoException).code}). Make it readable for the user that runs the server.`,
    ]);
  }
}

function parseKey(content: string, file: string): Buffer {
  const text = content.trim();
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, "hex");
  throw new ConfigError([
    `The master key ${file} has ${text.length} characters; allowed: 64 hexadecimal characters. Restore it from a backup, because stored secrets cannot be decrypted without it.`,
  ]);
}
