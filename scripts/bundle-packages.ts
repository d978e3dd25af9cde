import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const ROOT = join(import.meta.dirname, "..");
const OUT = join(ROOT, "cli/dist");
const ENTRIES = ["kysely", "prom-client", "typebox", "typebox/compile", "typebox/system", "typebox/value", "undici", "yaml"];

// Bundles packages that consist of many small modules: to find, read and compile 1,200 files takes a quarter of the server's start.
// cli/bundled-packages.js loads the bundles instead. The names of files depend on their content, and old files stay, because a
// running server may load them later.
export async function bundlePackages(): Promise<void> {
  const entries = join(OUT, `entries.${process.pid}`);
  mkdirSync(entries, { recursive: true });
  for (const entry of ENTRIES) writeFileSync(join(entries, fileOf(entry)), reexport(entry, Object.keys((await import(entry)) as object)));
  const { metafile } = await build({
    entryPoints: ENTRIES.map((entry) => join(entries, fileOf(entry))),
    entryNames: "[name]-[hash]",
    outdir: OUT,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node24",
    nodePaths: [join(ROOT, "node_modules")],
    // CommonJS packages call it for Node's own modules.
    banner: { js: 'import { createRequire as $createRequire } from "node:module"; const require = $createRequire(import.meta.url);' },
    metafile: true,
    logLevel: "silent",
  });
  rmSync(entries, { recursive: true });
  const files: Record<string, string> = {};
  for (const [output, { entryPoint }] of Object.entries(metafile.outputs)) {
    const entry = entryPoint && ENTRIES.find((one) => entryPoint.endsWith(`/${fileOf(one)}`));
    if (entry) files[entry] = output.slice(output.lastIndexOf("/") + 1);
  }
  const list = join(OUT, `packages.${process.pid}`);
  writeFileSync(list, JSON.stringify({ files, versions: Object.fromEntries(ENTRIES.map(nameOf).map((name) => [name, versionOf(name)])) }));
  renameSync(list, join(OUT, "packages.json"));
}

// The names are written out, because esbuild does not know those of a CommonJS package.
function reexport(entry: string, exported: string[]): string {
  const names = exported.filter((name) => name !== "default" && name !== "module.exports");
  return `import * as all from "${entry}";
${names.map((name) => `export const ${name} = all.${name};`).join("\n")}
export default all.default;
`;
}

const fileOf = (entry: string) => `${entry.replaceAll("/", "-")}.js`;

const nameOf = (entry: string) => entry.split("/")[0]!;

const versionOf = (name: string) =>
  (JSON.parse(readFileSync(join(ROOT, "node_modules", name, "package.json"), "utf8")) as { version: string }).version;
