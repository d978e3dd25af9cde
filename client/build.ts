// Builds client/dist, the package (`npm pack ./client/dist`): plain JavaScript with types, for any runtime.
// Inside this repository the sources are used directly.
import { execFileSync } from "node:child_process";
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const folder = import.meta.dirname;
const dist = join(folder, "dist");

export function buildClient(): string {
  rmSync(dist, { recursive: true, force: true });
  const compiler = join(folder, "../node_modules/typescript-native/bin/tsc");
  execFileSync(process.execPath, [compiler, "-p", join(folder, "tsconfig.build.json")], { stdio: "inherit" });
  rewriteImports();
  const {
    private: _isPrivate,
    scripts: _scripts,
    ...manifest
  } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Record<string, unknown>;
  const published = {
    ...manifest,
    sideEffects: false,
    files: ["**/*.js", "**/*.d.ts"],
    exports: { ".": { types: "./index.d.ts", default: "./index.js" } },
  };
  writeFileSync(join(dist, "package.json"), `${JSON.stringify(published, null, 2)}\n`);
  cpSync(join(folder, "README.md"), join(dist, "README.md"));
  cpSync(join(folder, "../LICENSE"), join(dist, "LICENSE"));
  return dist;
}

// The compiler leaves `./x.ts` in declarations, which older compilers do not find.
function rewriteImports(): void {
  for (const file of globSync("**/*.d.ts", { cwd: dist })) {
    const path = join(dist, file);
    writeFileSync(path, readFileSync(path, "utf8").replaceAll(/(from|import\()( ?)"(\.{1,2}\/[^"]+)\.ts"/g, '$1$2"$3.js"'));
  }
}

if (import.meta.main) buildClient();
