import type { FileEntry, SandboxMethods } from "@computesdk/provider";
import { FileNotFoundError, type Session } from "../../client/index.ts";

// Paths are absolute, or relative to the home folder.
export const filesystem: NonNullable<SandboxMethods<Session>["filesystem"]> = {
  readFile: ({ home }, path) => home.readText(path),
  async writeFile({ home }, path, content) {
    await home.write(path, content);
  },
  mkdir: ({ home }, path) => home.makeFolder(path),
  async readdir({ home }, path) {
    const entries = await home.list(path);
    return entries.map(({ name, type, target, size, modifiedAtMs }): FileEntry => {
      const isFolder = (target ?? type) === "folder";
      return { name, type: isFolder ? "directory" : "file", size, modified: new Date(modifiedAtMs) };
    });
  },
  exists: ({ home }, path) => home.exists(path),
  // Like `rm -rf`, as with other providers.
  async remove({ home }, path) {
    await home.remove(path).catch((error: unknown) => {
      if (!(error instanceof FileNotFoundError)) throw error;
    });
  },
};
