import { createHash, randomBytes } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

// The contents of files, by their hash. Equal contents are stored once.
export interface ObjectStore {
  // Returns the hash.
  put(bytes: Uint8Array): Promise<string>;
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
    async put(bytes) {
      const hash = hashOf(bytes);
      const file = fileOf(hash);
      if ((await stat(file).catch(() => null))?.size === bytes.byteLength) return hash;
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      const temporary = `${file}.${randomBytes(6).toString("hex")}`;
      try {
        await using handle = await open(temporary, "wx", 0o600);
        await handle.writeFile(bytes);
        await rename(temporary, file);
        addedBytes += bytes.byteLength;
      } catch (error) {
        await rm(temporary, { force: true });
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

export const hashOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
