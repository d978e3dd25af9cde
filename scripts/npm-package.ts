// Builds the dist folder of a package that partners install, with plain JavaScript and types for any runtime, and packs it into
// dist/packed, from where the server hands it out. It needs no package that set-up for serving does not install.
import { execFileSync } from "node:child_process";
import { cpSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

export interface NpmPackage {
  // The folder with package.json, README.md and tsconfig.build.json.
  folder: string;
  // The module that the package exports, in dist and without its ending.
  entry: string;
  // The name of the packed file.
  file: string;
}

export function buildNpmPackage({ folder, entry, file }: NpmPackage): string {
  const dist = join(folder, "dist");
  rmSync(dist, { recursive: true, force: true });
  const compiler = join(root, "node_modules/typescript-native/bin/tsc");
  execFileSync(process.execPath, [compiler, "-p", join(folder, "tsconfig.build.json")], { stdio: "inherit" });
  rewriteImports(dist);
  const {
    private: _isPrivate,
    scripts: _scripts,
    ...manifest
  } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Record<string, unknown>;
  const published = {
    ...manifest,
    sideEffects: false,
    files: ["**/*.js", "**/*.d.ts"],
    exports: { ".": { types: `./${entry}.d.ts`, default: `./${entry}.js` } },
  };
  writeFileSync(join(dist, "package.json"), `${JSON.stringify(published, null, 2)}\n`);
  cpSync(join(folder, "README.md"), join(dist, "README.md"));
  cpSync(join(root, "LICENSE"), join(dist, "LICENSE"));
  pack(dist, file);
  return dist;
}

function pack(dist: string, file: string): void {
  const packed = join(dist, "packed");
  mkdirSync(packed);
  const args = ["pack", "--json", "--pack-destination", packed, dist];
  const [{ filename }] = JSON.parse(execFileSync("npm", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })) as [
    { filename: string },
  ];
  renameSync(join(packed, filename), join(packed, file));
}

// The compiler leaves `./x.ts` in declarations, which older compilers do not find.
function rewriteImports(dist: string): void {
  for (const file of globSync("**/*.d.ts", { cwd: dist })) {
    const path = join(dist, file);
    writeFileSync(path, readFileSync(path, "utf8").replaceAll(/(from|import\()( ?)"(\.{1,2}\/[^"]+)\.ts"/g, '$1$2"$3.js"'));
  }
}
