import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { readdir, readFile, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { systemCode } from "../../http/errors.ts";

// The contents of files, by their hash. Equal contents are stored once.
export interface ObjectStore {
  // Returns the hash.
  put(bytes: Uint8Array): string;
  // Throws if the content is missing or damaged: programs of the user can write to this folder.
  read(hash: string): Promise<Buffer>;
  // The bytes that `put` has written since the last `keepOnly`. Before the first one they are not known, and infinite.
  readonly addedBytes: number;
  // Removes all others. Returns the number of bytes that remain.
  keepOnly(hashes: ReadonlySet<string>): Promise<number>;
}

export function openObjectStore(folder: string): ObjectStore {
  const fileOf = (hash: string) => join(folder, hash.slice(0, 2), hash.slice(2));

  let addedBytes = Infinity;

  return {
    get addedBytes() {
      return addedBytes;
    },
    put(bytes) {
      const hash = hashOf(bytes);
      const file = fileOf(hash);
      if (statSync(file, { throwIfNoEntry: false })?.size === bytes.byteLength) return hash;
      const temporary = `${file}.${randomBytes(6).toString("hex")}`;
      try {
        write(temporary, bytes);
        renameSync(temporary, file);
        addedBytes += bytes.byteLength;
      } catch (error) {
        rmSync(temporary, { force: true });
        throw error;
      }
      return hash;
    },
    async read(hash) {
      const bytes = await readFile(fileOf(hash));
      if (hashOf(bytes) !== hash) throw new Error(`The content ${hash} is damaged`);
      return bytes;
    },
    async keepOnly(hashes) {
      let total = 0;
      addedBytes = 0;
      for (const prefix of await readdir(folder).catch(() => [])) {
        for (const rest of await readdir(join(folder, prefix)).catch(() => [])) {
          const file = join(folder, prefix, rest);
          if (!hashes.has(prefix + rest)) await rm(file, { force: true });
          else total += (await stat(file).catch(() => null))?.size ?? 0;
        }
      }
      return total;
    },
  };
}

function write(file: string, bytes: Uint8Array): void {
  const options = { flag: "wx", mode: 0o600 };
  try {
    writeFileSync(file, bytes, options);
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw error;
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, bytes, options);
  }
}

export const hashOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
