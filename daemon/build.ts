import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, relative } from "node:path";
import { carryPrograms, type CarriedPrograms } from "./portable-programs/carry-programs.ts";
import { CODE_FLAGS_AT, splitSnapshot } from "./heap/snapshot-file.ts";
import { build, type BuildOptions, type PluginBuild } from "esbuild";

const OUT = join(import.meta.dirname, "dist");
const require = createRequire(import.meta.url);

// Builds daemon/dist, which sandboxes see read-only at /opt/berth:
//   bin/node      the Node that runs the daemon       *.cjs         the daemon and its lazily loaded parts
//   bin/goose …   the installed agents                node_modules  native parts: terminals, starting programs
//   lib/, cache   the libraries of these programs, so that they need none of the image (portable-programs/)
//   languages/    the language servers                host/         the same programs, for daemons that run outside of sandboxes
//   init.sh       process 1 of a sandbox              bashrc        read by every terminal
//   lib/sh        the shell that runs init.sh         daemon.blob   the heap from which the daemon starts
//                                                     daemon.heap   a part of it, which all daemons share (heap/share-heap.ts)
// The build goes to a temporary folder, and each file is then renamed into place: sandboxes may be running from dist and
// must never see a partial file.
export async function buildDaemon(out = OUT): Promise<void> {
  const next = `${out}.${process.pid}`;
  rmSync(next, { recursive: true, force: true });
  for (const name of ["bin", "host"]) mkdirSync(join(next, name), { recursive: true });
  await bundle(next);
  for (const path of ["init.sh", "terminals/bashrc"]) copyFileSync(source(path), join(next, basename(path)));
  const programs = new Map([["node", nodeBinary()], ...agentBinaries()]);
  for (const [name, program] of programs) place(program, join(next, "host", name));
  makeSnapshot(next);
  const addons = [placeTerminalPackage(join(next, "node_modules/@lydell")), ...placeSpawnPackage(join(next, "node_modules"))];
  placePrograms(next, { programs, addons, previous: out });
  placeLanguageServers(join(next, "languages"));
  for (const entry of readdirSync(next, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) continue;
    const built = join(entry.parentPath, entry.name);
    const target = join(out, relative(next, built));
    mkdirSync(dirname(target), { recursive: true });
    renameSync(built, target);
  }
  rmSync(next, { recursive: true, force: true });
  makeReadable(out);
}

// The users of sandboxes are none of this machine's. Sources and packages may have modes that let only their owner read them.
function makeReadable(folder: string): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory() || entry.isFile()) chmodSync(path, entry.isDirectory() || statSync(path).mode & 0o100 ? 0o755 : 0o644);
  }
}

async function bundle(folder: string): Promise<void> {
  const [empty, lazyHttp] = [source("empty-module.cjs"), source("lazy-http.cjs")];
  // ws loads these modules, but a server without TLS and compression never uses them. They cost 2 MB in every sandbox.
  const unused = { zlib: empty, https: empty, tls: empty };
  await buildParts(folder, {
    alias: { ...unused, http: lazyHttp, "node:http": lazyHttp },
    entryPoints: {
      daemon: source("main.ts"),
      agent: source("agent/agent.ts"),
      archive: source("files/archive.ts"),
      "build-image": source("builds/build-image.ts"),
      languages: source("languages/languages.ts"),
      "run-setup": source("setup/runner/run-setup.ts"),
      "search-builtin": source("search/search-builtin.ts"),
    },
  });
  // ssh2 needs zlib to start, and compares the names of its classes. Its native parts are optional, and not installed.
  const native = ["cpu-features", "./crypto/build/Release/sshcrypto.node"];
  await buildParts(folder, { entryPoints: { ssh: source("ssh/ssh.ts") }, keepNames: true, external: native });
}

async function buildParts(folder: string, options: BuildOptions): Promise<void> {
  await build({
    ...options,
    outdir: folder,
    outExtension: { ".js": ".cjs" },
    bundle: true,
    minify: true,
    platform: "node",
    target: "node24",
    format: "cjs",
    // `import()` becomes a `require` of a separate bundle, so that sessions do not pay for parts they never use.
    supported: { "dynamic-import": false },
    plugins: [{ name: "lazy parts", setup: keepLazyPartsApart }],
    banner: { js: PROLOGUE },
    define: { "import.meta.dirname": "runtimeFolder" },
    logLevel: "warning",
  });
}

// A start-up snapshot must not contain the folder in which it was built, and its `require` loads only modules of Node. The first
// argument is the path of the bundle in both cases.
const PROLOGUE = `{
  const builtin = require;
  Object.defineProperty(globalThis, "runtimeFolder", { configurable: true, get: () => builtin("path").dirname(process.argv[1]) });
  require = (id) => (id.startsWith("./") ? builtin("module").createRequire(process.argv[1])(id) : builtin(id));
}`;

// Makes the heap from which init.sh starts the daemon, with the flags of init.sh. The daemon also starts without it, only slower.
function makeSnapshot(folder: string): void {
  const file = join(folder, "daemon.blob");
  const config = join(folder, "snapshot.json");
  writeFileSync(config, JSON.stringify({ builder: join(folder, "daemon.cjs") }));
  try {
    const args = [...snapshotFlags(), "--snapshot-blob", file, "--build-snapshot-config", config];
    const env = { PATH: process.env.PATH, NODE_NO_WARNINGS: "1" };
    execFileSync(join(folder, "host/node"), args, { stdio: ["ignore", "inherit", "inherit"], env });
  } finally {
    rmSync(config);
  }
  const { snapshot, heap } = splitSnapshot(readFileSync(file), codeFlags(join(folder, "host/node")));
  writeFileSync(file, snapshot);
  writeFileSync(join(folder, "daemon.heap"), heap);
}

// V8's number for the flags of init.sh, which it writes into all code that it compiles with them.
function codeFlags(node: string): number {
  const script = `new vm.Script("").createCachedData().readUInt32LE(${CODE_FLAGS_AT})`;
  return Number(execFileSync(node, [...snapshotFlags(), "--print", script], { encoding: "utf8" }));
}

// The flags of Node with which init.sh starts the daemon from its snapshot.
export function snapshotFlags(): string[] {
  const flags = /^flags="(.+)"$/m.exec(readFileSync(source("init.sh"), "utf8"))?.[1];
  if (flags === undefined) throw new Error("init.sh has no flags for the snapshot");
  return flags.split(" ");
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

// Each coding agent is one program, in one package per architecture. Not every registry has all of them.
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

function placePrograms(folder: string, options: CarriedPrograms): void {
  const { reason } = carryPrograms(folder, options);
  if (reason === undefined) return;
  console.warn(`Sandboxes need an image with glibc, libstdc++ and a shell, because ${reason}.`);
  for (const [name, program] of options.programs) place(program, join(folder, "bin", name));
}

// Returns the path of its native part.
function placeTerminalPackage(folder: string): string {
  const name = `node-pty-${process.platform}-${process.arch}`;
  const found = resolvePackage(`@lydell/${name}`);
  if (!found) throw new Error(`@lydell/${name} is not installed`);
  cpSync(found, join(folder, name), { recursive: true, dereference: true });
  return join(folder, name, "pty.node");
}

// Returns the path of its native part. Without it the daemon starts programs with Node's `spawn`, which takes longer.
function placeSpawnPackage(folder: string): string[] {
  const name = `@koromix/koffi-${process.platform}-${process.arch}`;
  const found = resolvePackage(name);
  if (!found) return [];
  const file = `${process.platform}_${process.arch}/koffi.node`;
  mkdirSync(dirname(join(folder, name, file)), { recursive: true });
  for (const path of [file, "package.json"]) place(join(found, path), join(folder, name, path));
  return [join(folder, name, file)];
}

// The native compiler of TypeScript contains its language server. Pyright needs no package besides its own files.
function placeLanguageServers(folder: string): void {
  const typescript = resolvePackage(`@typescript/typescript-${process.platform}-${process.arch}`);
  if (typescript) placeFolder(join(typescript, "lib"), join(folder, "typescript"));
  const pyright = resolvePackage("pyright");
  if (!pyright) return;
  placeFolder(join(pyright, "dist"), join(folder, "pyright"));
  // It says that the files are CommonJS. A package.json in a folder above may say otherwise.
  place(join(pyright, "package.json"), join(folder, "pyright/package.json"));
}

function placeFolder(original: string, target: string): void {
  for (const entry of readdirSync(original, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name.endsWith(".map")) continue;
    const path = join(entry.parentPath, entry.name);
    const placed = join(target, relative(original, path));
    mkdirSync(dirname(placed), { recursive: true });
    place(path, placed);
  }
}

function resolvePackage(name: string): string | undefined {
  try {
    return dirname(require.resolve(`${name}/package.json`));
  } catch {
    return undefined;
  }
}

// Hard links save space, and let all sandboxes share one page cache for these large files.
function place(original: string, target: string): void {
  try {
    linkSync(original, target);
  } catch {
    copyFileSync(original, target);
  }
}
