import type { Stats } from "node:fs";
import { lstat, readdir, readFile, readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { FileDetails, FileTree } from "@berth/contract/daemon/files.ts";
import { badRequest } from "../http/errors.ts";
import { sendJson } from "../http/reply.ts";
import type { Route } from "../http/route.ts";
import type { Attributes } from "./attributes.ts";
import type { Bases } from "./bases.ts";
import { requiredPath, typeOf } from "./files.ts";
import { TEMPORARY_PREFIX } from "./walk.ts";

export interface DetailDeps {
  bases: Bases;
  attributes: Pick<Attributes, "read">;
}

const MAX_ENTRIES = 10_000;
const MAX_DEPTH = 64;
const CONCURRENCY = 64;

// All that is known about a file, or about the files in a folder.
export function detailRoutes({ bases, attributes }: DetailDeps): Route[] {
  return [
    {
      method: "GET",
      path: "/files/stat",
      async handle(call) {
        await using parent = await bases.of(call).pinParent(requiredPath(call.query.get("path")));
        const [details] = await describeAll([parent.full], call.query.get("attributes"));
        sendJson(call.response, 200, details);
      },
    },
    {
      method: "GET",
      path: "/files/tree",
      async handle(call) {
        await using folder = await bases.of(call).pin(call.query.get("path") ?? "");
        if (!(await stat(folder.at)).isDirectory()) throw badRequest("The path is not a folder");
        const { paths, truncated } = await walk(await realpath(folder.at), parseDepth(call.query.get("depth")));
        const entries = await describeAll(paths, call.query.get("attributes"));
        sendJson(call.response, 200, { entries, truncated } satisfies FileTree);
      },
    },
  ];

  async function describeAll(paths: string[], prefix: string | null): Promise<FileDetails[]> {
    const names = await readNames();
    const entries: FileDetails[] = [];
    for (let i = 0; i < paths.length; i += CONCURRENCY) {
      const some = paths.slice(i, i + CONCURRENCY);
      // Deleted after the folder was read. A single file that does not exist is an error.
      const described = some.map((path) => (paths.length === 1 ? describe(path, names) : describe(path, names).catch(() => null)));
      entries.push(...(await Promise.all(described)).filter((entry) => entry !== null));
    }
    if (prefix === null || entries.length === 0) return entries;
    const found = await attributes.read(
      entries.map(({ path }) => path),
      prefix,
    );
    return entries.map((entry, i) => ({ ...entry, attributes: found[i] ?? {} }));
  }
}

async function describe(path: string, { users, groups }: Names): Promise<FileDetails> {
  const stats = await lstat(path);
  const isLink = stats.isSymbolicLink();
  const target = isLink ? await stat(path).catch(() => null) : null;
  return {
    name: basename(path),
    path,
    type: typeOf(target ?? stats),
    size: stats.size,
    modifiedAtMs: stats.mtimeMs,
    mode: modeOf(stats),
    owner: users.get(stats.uid) ?? String(stats.uid),
    group: groups.get(stats.gid) ?? String(stats.gid),
    ...(isLink && { target: target ? await realpath(path) : join(dirname(path), await readlink(path)) }),
  };
}

const modeOf = ({ mode }: Stats) => mode & 0o7777;

// In the order of their names, a folder before its contents. Does not follow links.
async function walk(folder: string, depth: number): Promise<{ paths: string[]; truncated: boolean }> {
  const paths: string[] = [];
  return { paths, truncated: !(await addEntries(folder, depth)) };

  async function addEntries(at: string, left: number): Promise<boolean> {
    const entries = await readdir(at, { withFileTypes: true });
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.name.startsWith(TEMPORARY_PREFIX)) continue;
      if (paths.length === MAX_ENTRIES) return false;
      paths.push(join(at, entry.name));
      if (entry.isDirectory() && left > 1 && !(await addEntries(join(at, entry.name), left - 1).catch(() => true))) return false;
    }
    return true;
  }
}

function parseDepth(text: string | null): number {
  if (text === null) return 1;
  if (!/^[1-9]\d{0,9}$/.test(text)) throw badRequest("depth must be a number from 1");
  return Math.min(Number(text), MAX_DEPTH);
}

interface Names {
  users: Map<number, string>;
  groups: Map<number, string>;
}

async function readNames(): Promise<Names> {
  const [users, groups] = await Promise.all(["/etc/passwd", "/etc/group"].map(readIds));
  return { users: users!, groups: groups! };
}

async function readIds(file: string): Promise<Map<number, string>> {
  const text = await readFile(file, "utf8").catch(() => "");
  const lines = text.split("\n").map((line) => line.split(":"));
  return new Map(lines.filter((words) => words.length > 2).map(([name = "", , id]) => [Number(id), name]));
}
