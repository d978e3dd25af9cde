import { createHash } from "node:crypto";
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

// Files of every kind that an agent may meet. All texts contain the word "alpha" once.
export interface FileKind {
  path: string;
  // null if the file does not exist.
  content: Buffer | null;
  mode?: number;
}

// More than a turn shows of its changes, which is 512 KiB. Its lines are long, because agents and the daemon compare line by line.
const LARGE = Array.from({ length: 3000 }, (_line, index) => (index === 1500 ? "alpha" : `a line ${index} `.padEnd(200, "-"))).join("\n");

export const FILE_KINDS: readonly FileKind[] = [
  { path: "made/by/agent.txt", content: null },
  { path: "src/existing.txt", content: Buffer.from("one\nalpha\nthree\n") },
  { path: "crlf.txt", content: Buffer.from("one\r\nalpha\r\nthree\r\n") },
  { path: "latin1.txt", content: Buffer.from("caf\xe9\nalpha\n", "latin1") },
  { path: "utf16.txt", content: Buffer.from("\uFEFFcafé\nalpha\n", "utf16le") },
  { path: "binary.bin", content: Buffer.from([0, 1, 2, 0xff, ...Buffer.from("alpha"), 0, 0xfe]) },
  { path: "large.txt", content: Buffer.from(LARGE) },
  { path: "read-only.txt", content: Buffer.from("one\nalpha\n"), mode: 0o444 },
  { path: "run.sh", content: Buffer.from("#!/bin/sh\necho alpha\n"), mode: 0o4755 },
  { path: "no-newline.txt", content: Buffer.from("one\nalpha") },
  { path: "target.txt", content: Buffer.from("one\nalpha\n") },
  { path: "gone.txt", content: Buffer.from("alpha\n") },
];

// A link to target.txt.
export const LINK = "link.txt";
export const DANGLING = "dangling";

export function makeFiles(workspace: string): void {
  for (const name of readdirSync(workspace)) rmSync(join(workspace, name), { recursive: true });
  for (const { path, content, mode } of FILE_KINDS) {
    if (content === null) continue;
    mkdirSync(dirname(join(workspace, path)), { recursive: true });
    writeFileSync(join(workspace, path), content);
    if (mode !== undefined) chmodSync(join(workspace, path), mode);
  }
  symlinkSync("target.txt", join(workspace, LINK));
  symlinkSync("nowhere", join(workspace, DANGLING));
  mkdirSync(join(workspace, "closed"), { mode: 0o750 });
}

// Everything about the files that has to come back: kinds, permissions, targets and bytes.
export function describeFiles(workspace: string): Record<string, string> {
  return Object.fromEntries(pathsIn(workspace, "").map((path) => [path, describe(join(workspace, path))]));
}

// Without what is behind links.
function pathsIn(workspace: string, folder: string): string[] {
  return readdirSync(join(workspace, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? [path, ...pathsIn(workspace, path)] : [path];
  });
}

function describe(at: string): string {
  const stats = lstatSync(at);
  if (stats.isSymbolicLink()) return `link to ${readlinkSync(at)}`;
  const mode = (stats.mode & 0o7777).toString(8);
  return stats.isDirectory() ? `${mode} folder` : `${mode} ${createHash("sha256").update(readFileSync(at)).digest("hex")}`;
}
