import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

// The tests that need neither a browser nor another runtime, and build no template.
const CONFIG = `import { defineConfig } from "vitest/config";
export default defineConfig({
  test: {
    include: ["tests/**/*.test.ts"],
    exclude: ["**/runtimes/**", "**/template/**", "**/bundle/**", "**/*.browser.test.ts"],
    testTimeout: 30_000,
    setupFiles: ["tests/globalFetchFallback.setup.ts"],
    env: process.env,
  },
});
`;
const TOOLS = { vitest: "4.1.11", msw: "2.15.0", "error-stack-parser-es": "2.0.1" };

// Copies E2B's tests and the SDK into `folder`, once for the SDK of the clone and once for each of the versions, with their packages.
// Returns the names of the copies.
export function prepareSuite(clone: string, folder: string, versions: readonly string[]): string[] {
  const source = join(clone, "packages/js-sdk");
  const own = readPackage(join(source, "package.json"));
  return [own.version, ...versions.filter((version) => version !== own.version)].map((version) => {
    const copy = join(folder, version);
    mkdirSync(copy);
    for (const part of ["src", "tests", "tsconfig.json"]) cpSync(join(source, part), join(copy, part), { recursive: true });
    const sdk = version === own.version ? own : replaceSdk(copy, version);
    const dependencies = { ...sdk.dependencies, ...sdk.optionalDependencies, ...TOOLS };
    writeFileSync(join(copy, "package.json"), JSON.stringify({ name: "e2b", version, type: "module", dependencies }));
    writeFileSync(join(copy, "vitest.config.mts"), CONFIG);
    install(copy);
    return version;
  });
}

interface Package {
  version: string;
  dependencies: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

const readPackage = (file: string) => JSON.parse(readFileSync(file, "utf8")) as Package;

// The published package has its source in its source map. Files that have only types are not in it: those of the clone stay.
function replaceSdk(copy: string, version: string): Package {
  const published = join(copy, "published");
  install(published, `e2b@${version}`);
  const sdk = join(published, "node_modules/e2b");
  const map = JSON.parse(readFileSync(join(sdk, "dist/index.mjs.map"), "utf8")) as { sources: string[]; sourcesContent: string[] };
  for (const [index, name] of map.sources.entries()) {
    const path = name.replace(/^(\.\.\/)+/, "");
    if (!path.startsWith("src/") || path.includes("..")) continue;
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    writeFileSync(join(copy, path), map.sourcesContent[index] ?? "");
  }
  return readPackage(join(sdk, "package.json"));
}

function install(folder: string, ...packages: string[]): void {
  if (!existsSync(folder)) mkdirSync(folder);
  const options = ["--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder];
  execFileSync("npm", ["install", ...options, ...packages], { stdio: ["ignore", "ignore", "inherit"] });
}
