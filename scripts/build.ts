// Builds the parts that do not run as written: the daemon's bundle, the browser app, the server's bundle, and the clients
// for partners; or only those that are named. A part is built only when its sources have changed since the last time.
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync, writeFileSync, type Dirent } from "node:fs";
import { dirname, join, relative } from "node:path";
import { changedAt, recordBuild } from "./build-record.mjs";
import { runStep, runSteps, StepError } from "./step.mjs";

const root = join(import.meta.dirname, "..");
// A record by scripts/install.mjs of the packages that npm has installed.
const INSTALLED = "node_modules/.berth-installed";

const NPM_PACKAGE = "scripts/npm-package.ts";
const bundled = ["cli", "client", "contract", "server"].map((folder) => `${folder}/**/*`);
const DOCUMENTATION = [
  "*.md",
  "{docs,docs-site}/**/*",
  // The folders too, so that a README that is added later is noticed.
  "{clients,examples}/*",
  "{client,clients/*,examples/*}/README.md",
  "bench/{README.md,results/*}",
  "contract/**/*.ts",
  "web/workspace/styles/tokens.css",
  "package.json",
  "package-lock.json",
];
// Each resolves to whether there was anything to build.
const PARTS: Record<string, () => Promise<boolean>> = {
  daemon: () =>
    buildPart("daemon", async () => (await import("../daemon/build.ts")).buildDaemon(), [
      "daemon/**/*",
      "contract/**/*.ts",
      "native/**/*.ts",
      "package-lock.json",
    ]),
  web: () => buildPart("web", buildWeb),
  cli: () =>
    buildPart("cli", async () => (await import("./bundle-server.ts")).bundleServer(), [
      ...bundled,
      "scripts/bundle-server.ts",
      "package-lock.json",
    ]),
  docs: () => buildPart("docs-site", async () => (await import("../docs-site/build.ts")).buildDocs(), DOCUMENTATION),
  client: () => buildPart("client", buildClient, ["client/**/*", "contract/**/*.ts", NPM_PACKAGE, "package-lock.json"]),
  computesdk: () =>
    buildPart("clients/computesdk", buildComputeSdk, ["clients/computesdk/**/*", "client/**/*", NPM_PACKAGE, "package-lock.json"]),
  python: () =>
    buildPart("clients/python", buildPythonClient, [
      "clients/python/**/*",
      "contract/**/*.ts",
      "client/package.json",
      "scripts/wire-schemas.ts",
      "package-lock.json",
    ]),
};

// When each file and folder changed last that decides whether the parts are current.
const changes = new Map<string, number | null>();

await runSteps(async () => {
  const named = process.argv.slice(2);
  if (named.length > 0) await buildParts(named);
  // Only a second pass finds nothing to build after a first one that did.
  else if (await buildAll()) await buildAll();
});

async function buildAll(): Promise<boolean> {
  const startedMs = Date.now();
  changes.clear();
  for (const path of ["scripts/build.ts", INSTALLED]) note(path);
  const hasBuilt = await buildParts(Object.keys(PARTS));
  if (!hasBuilt) recordBuild(root, changes, startedMs);
  return hasBuilt;
}

async function buildParts(names: string[]): Promise<boolean> {
  let hasBuilt = false;
  for (const [part, build] of Object.entries(PARTS)) if (names.includes(part) && (await build())) hasBuilt = true;
  return hasBuilt;
}

async function buildPart(
  folder: string,
  build: () => Promise<void>,
  sources: string[] = [`${folder}/**/*`, "contract/**/*.ts", "package-lock.json"],
): Promise<boolean> {
  const stamp = join(root, folder, "dist/.sources");
  note(relative(root, stamp));
  const wanted = fingerprint(sources);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return false;
  await runStep(`building ${folder}/`, async () => {
    try {
      await build();
    } catch (error) {
      throw new StepError(explain(folder, error), { cause: error });
    }
  });
  writeFileSync(stamp, wanted);
  return true;
}

function note(path: string): void {
  if (!changes.has(path)) changes.set(path, changedAt(root, path));
}

// A file or folder among the sources, with the folders above it, where others may be added.
function noteSource(path: string): void {
  if (changes.has(path)) return;
  note(path);
  if (path !== ".") noteSource(dirname(path));
}

// A build tool without its native part fails in many words. The usual cause is a node_modules folder from another machine.
function explain(folder: string, error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const isMissing = /cannot find (native binding|module|package)|could not be found|is not installed|wrong ELF class|invalid ELF/i.test(
    message,
  );
  const advice = isMissing
    ? `A package for ${process.platform}-${process.arch} is missing: delete node_modules and try again.`
    : "Fix the source and try again.";
  return `building ${folder}/ failed: ${message.trim().split("\n")[0]} ${advice}`;
}

function fingerprint(patterns: string[]): string {
  // The daemon's folder holds binaries of installed packages, and the tests install more of them.
  const installed = join(root, INSTALLED);
  const hash = createHash("sha256").update(existsSync(installed) ? readFileSync(installed) : process.arch);
  const entries = globSync(patterns, {
    cwd: root,
    withFileTypes: true,
    exclude: (entry) => entry.name === "dist" || entry.name === "node_modules",
  }).filter((entry) => !/\.test\.tsx?$/.test(entry.name));
  const pathOf = (entry: Dirent) => join(entry.parentPath, entry.name);
  for (const entry of entries) noteSource(relative(root, pathOf(entry)));
  const files = entries
    .filter((entry) => entry.isFile())
    .map(pathOf)
    .sort();
  for (const file of files) hash.update(file.slice(root.length)).update("\0").update(readFileSync(file));
  return hash.digest("hex");
}

async function buildClient(): Promise<void> {
  (await import("../client/build.ts")).buildClient();
}

async function buildComputeSdk(): Promise<void> {
  (await import("../clients/computesdk/build.ts")).buildComputeSdk();
}

async function buildPythonClient(): Promise<void> {
  (await import("../clients/python/build.ts")).buildPythonClient();
}

async function buildWeb(): Promise<void> {
  const { build } = await import("vite");
  await build({ root: join(root, "web"), logLevel: "error" });
}
