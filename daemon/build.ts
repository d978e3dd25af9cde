import { copyFileSync, cpSync, existsSync, linkSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, relative } from "node:path";
import { build, type PluginBuild } from "esbuild";

const OUT = join(import.meta.dirname, "dist");
const require = createRequire(import.meta.url);

// Makes daemon/dist: exactly the folder that sandboxes see, read-only, at /opt/berth.
//   bin/node      the Node that runs the daemon       *.cjs         the daemon, and its parts that are loaded on demand
//   bin/goose …   the agents that are installed       node_modules  the terminal's native part
//   init.sh       what a driver starts as process 1   bashrc        what terminals start with
// Built beside and moved in file by file: sandboxes may be running from the folder, and must always find whole files.
export async function buildDaemon(): Promise<void> {
  const next = `${OUT}.${process.pid}`;
  rmSync(next, { recursive: true, force: true });
  mkdirSync(join(next, "bin"), { recursive: true });
  await bundle(next);
  for (const path of ["init.sh", "terminals/bashrc"]) copyFileSync(source(path), join(next, basename(path)));
  place(nodeBinary(), join(next, "bin/node"));
  for (const [name, program] of agentBinaries()) place(program, join(next, "bin", name));
  placeTerminalPackage(join(next, "node_modules/@lydell"));
  for (const entry of readdirSync(next, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const built = join(entry.parentPath, entry.name);
    const target = join(OUT, relative(next, built));
    mkdirSync(dirname(target), { recursive: true });
    renameSync(built, target);
  }
  rmSync(next, { recursive: true, force: true });
}

async function bundle(folder: string): Promise<void> {
  const empty = source("empty-module.cjs");
  await build({
    entryPoints: {
      daemon: source("main.ts"),
      agent: source("agent/agent.ts"),
      archive: source("files/archive.ts"),
      "search-builtin": source("search/search-builtin.ts"),
    },
    outdir: folder,
    outExtension: { ".js": ".cjs" },
    bundle: true,
    minify: true,
    platform: "node",
    target: "node24",
    format: "cjs",
    // ws asks for these at load although a server without TLS and compression never uses them: 2 MB in every sandbox.
    alias: { zlib: empty, https: empty, tls: empty },
    // `import()` of a part of ours is a `require` of its own file at that moment: what few sessions use costs the others nothing.
    supported: { "dynamic-import": false },
    plugins: [{ name: "lazy parts", setup: keepLazyPartsApart }],
    define: { "import.meta.dirname": "__dirname" },
    logLevel: "warning",
  });
}

function keepLazyPartsApart(plugin: PluginBuild): void {
  plugin.onResolve({ filter: /^\.\/.*\.ts$/ }, ({ kind, path }) =>
    kind === "dynamic-import" ? { path: `./${basename(path, ".ts")}.cjs`, external: true } : undefined,
  );
}

const source = (name: string) => join(import.meta.dirname, name);

function nodeBinary(): string {
  for (const name of [`node-${process.platform}-${process.arch}`, `node-bin-${process.platform}-${process.arch}`]) {
    const folder = resolvePackage(name);
    if (folder) return join(folder, "bin/node");
  }
  return process.execPath;
}

// A coding agent is one program in a package for each architecture. Not every registry has each of them.
export function agentBinaries(): Map<string, string> {
  const packages = {
    goose: `@aaif/goose-binary-${process.platform}-${process.arch}`,
    opencode: `opencode-${process.platform}-${process.arch}`,
  };
  const found = new Map<string, string>();
  for (const [name, wanted] of Object.entries(packages)) {
    const folder = resolvePackage(wanted);
    if (folder && existsSync(join(folder, "bin", name))) found.set(name, join(folder, "bin", name));
  }
  return found;
}

function placeTerminalPackage(folder: string): void {
  const name = `node-pty-${process.platform}-${process.arch}`;
  const found = resolvePackage(`@lydell/${name}`);
  if (!found) throw new Error(`@lydell/${name} is not installed`);
  cpSync(found, join(folder, name), { recursive: true, dereference: true });
}

function resolvePackage(name: string): string | undefined {
  try {
    return dirname(require.resolve(`${name}/package.json`));
  } catch {
    return undefined;
  }
}

// A hard link where possible: these files are large, and one page cache serves every sandbox.
function place(original: string, target: string): void {
  try {
    linkSync(original, target);
  } catch {
    copyFileSync(original, target);
  }
}
