import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

// The path of a command, including the folders of root's commands.
export function onPath(command: string): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  return folders.map((folder) => join(folder, command)).find((path) => existsSync(path));
}
