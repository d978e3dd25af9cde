// Builds the parts that do not run as written: the daemon's bundle, the browser app, the server's bundle, and the clients
// for partners; or only those that are named. A part is built only when its sources have changed since the last time.
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runStep, runSteps, StepError } from "./step.mjs";

const root = join(import.meta.dirname, "..");

const NPM_PACKAGE = "scripts/npm-package.ts";
const bundled = ["cli", "client", "contract", "server"].map((folder) => `${folder}/**/*`);
const DOCUMENTATION = [
  "*.md",
  "{docs,docs-site}/**/*",
  "{client,clients/*,examples/*}/README.md",
  "bench/{README.md,results/*}",
  "contract/**/*.ts",
  "web/workspace/styles/tokens.css",
  "package.json",
  "package-lock.json",
];
const PARTS: Record<string, () => Promise<void>> = {
  daemon: () => buildPart("daemon", async () => (await import("../daemon/build.ts")).buildDaemon()),
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

await runSteps(async () => {
  const named = process.argv.slice(2);
  for (const [part, build] of Object.entries(PARTS)) if (named.length === 0 || named.includes(part)) await build();
});

async function buildPart(
  folder: string,
  build: () => Promise<void>,
  sources: string[] = [`${folder}/**/*`, "contract/**/*.ts", "package-lock.json"],
): Promise<void> {
  const stamp = join(root, folder, "dist/.sources");
  const wanted = fingerprint(sources);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  await runStep(`building ${folder}/`, async () => {
    try {
      await build();
    } catch (error) {
      throw new StepError(explain(folder, error), { cause: error });
    }
  });
  writeFileSync(stamp, wanted);
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
  const installed = join(root, "node_modules/.berth-installed");
  const hash = createHash("sha256").update(existsSync(installed) ? readFileSync(installed) : process.arch);
  const files = globSync(patterns, {
    cwd: root,
    withFileTypes: true,
    exclude: (entry) => entry.name === "dist" || entry.name === "node_modules",
  })
    .filter((entry) => entry.isFile() && !/\.test\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
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
