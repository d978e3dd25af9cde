import { copyFileSync, cpSync, linkSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { build } from "esbuild";

const OUT = join(import.meta.dirname, "dist");
const require = createRequire(import.meta.url);

// Makes daemon/dist: exactly the folder that sandboxes see, read-only, at /opt/berth.
//   bin/node      the Node that runs the daemon       daemon.cjs    everything in one file
//   bin/goose     the default agent, where installed  node_modules  the terminal's native part
//   init.sh       what a driver starts as process 1   bashrc        what terminals start with
// Built beside and moved in file by file: sandboxes may be running from the folder, and must always find whole files.
export async function buildDaemon(): Promise<void> {
  const next = `${OUT}.${process.pid}`;
  rmSync(next, { recursive: true, force: true });
  mkdirSync(join(next, "bin"), { recursive: true });
  await bundle(next);
  for (const name of ["init.sh", "bashrc"]) copyFileSync(join(import.meta.dirname, name), join(next, name));
  place(nodeBinary(), join(next, "bin/node"));
  const goose = resolvePackage("@aaif/goose-binary-linux-x64");
  if (goose) place(join(goose, "bin/goose"), join(next, "bin/goose"));
  placeTerminalPackage(join(next, "node_modules/@lydell"));
  for (const entry of readdirSync(next, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const source = join(entry.parentPath, entry.name);
    const target = join(OUT, relative(next, source));
    mkdirSync(dirname(target), { recursive: true });
    renameSync(source, target);
  }
  rmSync(next, { recursive: true, force: true });
}

async function bundle(folder: string): Promise<void> {
  const stub = join(import.meta.dirname, "stub.cjs");
  await build({
    entryPoints: { daemon: join(import.meta.dirname, "main.ts") },
    outdir: folder,
    outExtension: { ".js": ".cjs" },
    bundle: true,
    minify: true,
    platform: "node",
    target: "node24",
    format: "cjs",
    // ws asks for these at load although a server without TLS and compression never uses them: 2 MB in every sandbox.
    alias: { zlib: stub, https: stub, tls: stub },
    define: { "import.meta.dirname": "__dirname" },
    logLevel: "warning",
  });
}

function nodeBinary(): string {
  for (const name of [`node-${process.platform}-${process.arch}`, `node-bin-${process.platform}-${process.arch}`]) {
    const folder = resolvePackage(name);
    if (folder) return join(folder, "bin/node");
  }
  return process.execPath;
}

function placeTerminalPackage(folder: string): void {
  const name = `node-pty-${process.platform}-${process.arch}`;
  const source = resolvePackage(`@lydell/${name}`);
  if (!source) throw new Error(`@lydell/${name} is not installed`);
  cpSync(source, join(folder, name), { recursive: true, dereference: true });
}

function resolvePackage(name: string): string | undefined {
  try {
    return dirname(require.resolve(`${name}/package.json`));
  } catch {
    return undefined;
  }
}

// A hard link where possible: these files are large, and one page cache serves every sandbox.
function place(source: string, target: string): void {
  try {
    linkSync(source, target);
  } catch {
    copyFileSync(source, target);
  }
}
