import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";

export interface ImportGraph {
  /** Paths from the root of the repository, with forward slashes. */
  files: string[];
  /** The files of our own code that each file imports, type imports included. */
  imports: Map<string, string[]>;
}

/** Reads the imports in the product: the code that ships, without tests, suites and fixtures. */
export function readImportGraph(root: string): ImportGraph {
  const files = globSync("{contract,client,clients/computesdk,daemon,native,server,cli,web,docs-site}/**/*.{ts,tsx}", { cwd: root })
    .map((file) => file.split(sep).join("/"))
    .filter((file) => !/node_modules|\/dist\/|\.test\.tsx?$|\.suite\.ts$|\/testing(\/|\.ts$)/.test(file))
    .toSorted();
  const known = new Set(files);
  return { files, imports: new Map(files.map((file) => [file, importsOf(root, file).filter((target) => known.has(target))])) };
}

/** The groups of nodes that reach each other: an import circle is a group of two or more. */
export function findCircles(edges: ReadonlyMap<string, Iterable<string>>): string[][] {
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const open: string[] = [];
  const circles: string[][] = [];
  for (const node of edges.keys()) if (!order.has(node)) visit(node);
  return circles;

  // Tarjan's algorithm for strongly connected components.
  function visit(node: string): void {
    order.set(node, order.size);
    low.set(node, order.get(node)!);
    open.push(node);
    for (const target of edges.get(node) ?? []) {
      if (!order.has(target)) visit(target);
      if (open.includes(target)) low.set(node, Math.min(low.get(node)!, low.get(target)!));
    }
    if (low.get(node) !== order.get(node)) return;
    const group = open.splice(open.indexOf(node));
    if (group.length > 1) circles.push(group.toSorted());
  }
}

/**
 * The circles that a reader of one folder sees. At each level the nodes are the folder's own files and its subfolders,
 * each subfolder taken as a whole: `drivers/index.ts -> drivers/oci -> drivers/driver.ts` is a line, not a circle.
 */
export function findFolderCircles({ files, imports }: ImportGraph): string[][] {
  return allFolders(files).flatMap((folder) => findCircles(levelGraph(folder, imports)));
}

/** The graph of one folder: its files and subfolders, and which of them import each other. */
export function levelGraph(folder: string, imports: ReadonlyMap<string, readonly string[]>): Map<string, Set<string>> {
  const level = new Map<string, Set<string>>();
  for (const [file, targets] of imports) {
    const from = childOf(folder, file);
    if (from === undefined) continue;
    const to = level.get(from) ?? new Set<string>();
    level.set(from, to);
    for (const target of targets) {
      const child = childOf(folder, target);
      if (child !== undefined && child !== from) to.add(child);
    }
  }
  return level;
}

/** Every folder that holds files, with the root as "". */
export function allFolders(files: readonly string[]): string[] {
  const folders = new Set<string>([""]);
  for (const file of files) for (let folder = dirname(file); folder !== "."; folder = dirname(folder)) folders.add(folder);
  return [...folders].toSorted();
}

function childOf(folder: string, file: string): string | undefined {
  if (folder !== "" && !file.startsWith(`${folder}/`)) return undefined;
  const rest = file.slice(folder === "" ? 0 : folder.length + 1);
  return folder === "" ? rest.split("/")[0] : `${folder}/${rest.split("/")[0]}`;
}

/** A part is a package, or a folder of the server; the files directly in server/ are "server". */
export function partOf(file: string): string {
  const [top, folder, ...rest] = file.split("/");
  return top === "server" && rest.length > 0 ? `server/${folder}` : top!;
}

/** Whether a file builds all parts, and so imports them all: `server/main.ts` and the files in `server/main/`. */
export const buildsParts = (file: string): boolean => /^server\/main(\.ts|\/.*)$/.test(file);

/** Which part imports which, without the files that build them. */
export function partImports({ imports }: ImportGraph): Map<string, Set<string>> {
  const parts = new Map<string, Set<string>>();
  for (const [file, targets] of imports) {
    if (buildsParts(file)) continue;
    const from = partOf(file);
    const to = parts.get(from) ?? new Set();
    parts.set(from, to);
    for (const target of targets) if (partOf(target) !== from) to.add(partOf(target));
  }
  return parts;
}

function importsOf(root: string, file: string): string[] {
  const text = readFileSync(join(root, file), "utf8");
  const names = [...text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map(([, name]) => name!);
  return names.flatMap((name) => {
    if (name.startsWith(".")) return [toPosix(relative(root, join(root, dirname(file), name)))];
    const own = /^@berth\/(\w+)(?:\/(.+))?$/.exec(name);
    return own ? [`${own[1]}/${own[2] ?? "index.ts"}`] : [];
  });
}

const toPosix = (path: string) => path.split(sep).join("/");
