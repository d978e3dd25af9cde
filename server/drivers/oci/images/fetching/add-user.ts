import { closeSync, constants, fstatSync, lstatSync, mkdirSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { findEntry, readInside } from "./image-config.ts";

const HOME = "/home/user";

// Gives the user of sandboxes a name in an image that has none for this id: many programs refuse to run for a user without one.
export function addUser(root: string, uid: number): void {
  const passwd = readInside(root, "etc/passwd");
  const name = findEntry(passwd, "user") ? "berth-user" : "user";
  const shell = lstatSync(join(root, "bin/bash"), { throwIfNoEntry: false }) ? "/bin/bash" : "/bin/sh";
  if (!findEntry(passwd, `${uid}`)) append(root, "etc/passwd", passwd, `${name}:x:${uid}:${uid}:user:${HOME}:${shell}\n`);
  const group = readInside(root, "etc/group");
  if (!findEntry(group, `${uid}`)) append(root, "etc/group", group, `${name}:x:${uid}:\n`);
}

// The image is not trusted: its file may be a link to one of the host. Nothing is added then.
function append(root: string, path: string, before: string, line: string): void {
  const folder = lstatSync(join(root, "etc"), { throwIfNoEntry: false });
  if (folder && !folder.isDirectory()) return;
  if (!folder) mkdirSync(join(root, "etc"), { mode: 0o755 });
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    const file = openSync(join(root, path), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o644);
    try {
      if (fstatSync(file).isFile()) writeSync(file, before === "" || before.endsWith("\n") ? line : `\n${line}`);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ELOOP" && code !== "ENXIO" && code !== "EISDIR") throw error;
  }
}
