import { constants, type Stats } from "node:fs";
import { type FieldReader, int, long } from "./packets.ts";

// The attributes of a file as SFTP sends them. A field that is absent is not changed.
export interface Attributes {
  size?: number;
  owner?: { uid: number; gid: number };
  mode?: number;
  times?: { accessed: number; modified: number };
}

const FLAG = { size: 1, owner: 2, mode: 4, times: 8, extended: 0x80000000 };

export function readAttributes(fields: FieldReader): Attributes {
  const flags = fields.int();
  const found: Attributes = {};
  if (flags & FLAG.size) found.size = fields.long();
  if (flags & FLAG.owner) found.owner = { uid: fields.int(), gid: fields.int() };
  if (flags & FLAG.mode) found.mode = fields.int() & 0o7777;
  if (flags & FLAG.times) found.times = { accessed: fields.int(), modified: fields.int() };
  // Extended attributes may follow. No server knows any, and they change nothing.
  return found;
}

export function writeAttributes({ size, uid, gid, mode, atimeMs, mtimeMs }: Stats): Buffer {
  const seconds = (ms: number) => int(Math.max(0, Math.floor(ms / 1000)));
  const flags = FLAG.size | FLAG.owner | FLAG.mode | FLAG.times;
  return Buffer.concat([int(flags), long(size), int(uid), int(gid), int(mode), seconds(atimeMs), seconds(mtimeMs)]);
}

const TYPES: [mask: number, letter: string][] = [
  [constants.S_IFDIR, "d"],
  [constants.S_IFLNK, "l"],
  [constants.S_IFIFO, "p"],
  [constants.S_IFSOCK, "s"],
  [constants.S_IFCHR, "c"],
  [constants.S_IFBLK, "b"],
];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const HALF_A_YEAR_MS = 183 * 24 * 3_600_000;

// A line as `ls -l` writes it, which clients show.
export function longName(name: string, { mode, nlink, uid, gid, size, mtimeMs }: Stats): string {
  const type = TYPES.find(([mask]) => (mode & constants.S_IFMT) === mask)?.[1] ?? "-";
  const bits = [6, 3, 0].map((shift) => "rwx".replaceAll(/./g, (letter, at: number) => ((mode >> shift) & (4 >> at) ? letter : "-")));
  const date = new Date(mtimeMs);
  const two = (value: number) => String(value).padStart(2, "0");
  const isRecent = Math.abs(Date.now() - mtimeMs) < HALF_A_YEAR_MS;
  const time = isRecent ? `${two(date.getHours())}:${two(date.getMinutes())}` : ` ${date.getFullYear()}`;
  const day = `${MONTHS[date.getMonth()]} ${String(date.getDate()).padStart(2)} ${time}`;
  return `${type}${bits.join("")} ${String(nlink).padStart(4)} ${String(uid).padEnd(8)} ${String(gid).padEnd(8)} ${String(size).padStart(8)} ${day} ${name}`;
}
