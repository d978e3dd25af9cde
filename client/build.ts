// Builds client/dist, the package, with plain JavaScript and types for any runtime; and packs it into client/dist/packed, from where the
// server hands it out. Inside this repository the sources are used directly.
import { execFileSync } from "node:child_process";
import { cpSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const folder = import.meta.dirname;
const dist = join(folder, "dist");
const packed = join(dist, "packed");

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
  pack();
  return dist;
}

function pack(): void {
  mkdirSync(packed);
  const args = ["pack", "--json", "--pack-destination", packed, dist];
  const [{ filename }] = JSON.parse(execFileSync("npm", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })) as [
    { filename: string },
  ];
  renameSync(join(packed, filename), join(packed, "berth-client.tgz"));
}

// The compiler leaves `./x.ts` in declarations, which older compilers do not find.
function rewriteImports(): void {
  for (const file of globSync("**/*.d.ts", { cwd: dist })) {
    const path = join(dist, file);
    writeFileSync(path, readFileSync(path, "utf8").replaceAll(/(from|import\()( ?)"(\.{1,2}\/[^"]+)\.ts"/g, '$1$2"$3.js"'));
  }
}

if (import.meta.main) buildClient();
