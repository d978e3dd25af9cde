import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

// Where a command is, also one for root alone.
export function onPath(command: string): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  return folders.map((folder) => join(folder, command)).find((path) => existsSync(path));
}
