import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { build, type Plugin } from "esbuild";

const ROOT = join(import.meta.dirname, "..");
const OUT = join(ROOT, "cli/dist");

// Bundles the command line and the server: to find, read and compile some 2,000 modules takes half of the server's start.
// cli/bundle.js loads the bundle instead of the sources. The names of files depend on their content, and old files stay, because
// a running server may load them later.
export async function bundleServer(): Promise<void> {
  const { metafile } = await build({
    entryPoints: [join(ROOT, "cli/berth.ts")],
    absWorkingDir: ROOT,
    entryNames: "[name]-[hash]",
    outdir: OUT,
    outExtension: { ".js": ".cjs" },
    bundle: true,
    // One file with one cache of compiled code. Modules that are imported dynamically still run only when they are needed.
    format: "cjs",
    platform: "node",
    target: "node24",
    external: ["pg-native"],
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "none",
    // One byte a character, as cli/bundle.js reads it.
    charset: "ascii",
    define: { "import.meta.url": "$url" },
    banner: { js: 'const $url = require("node:url").pathToFileURL(__filename).href;' },
    plugins: [ownLocation, usedPartOfKubernetesClient],
    metafile: true,
    logLevel: "silent",
  });
  const entry = Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === "cli/berth.ts")![0];
  const inputs = Object.keys(metafile.inputs);
  const packages = new Set(inputs.flatMap((path) => /^node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []));
  const manifest = {
    entry: relative("cli/dist", entry),
    // A package is one of its versions, so its manifest stands for all of its files.
    sources: [
      ...inputs.filter((path) => /^(cli|client|contract|server)\//.test(path)),
      ...[...packages].map((folder) => `${folder}/package.json`),
    ].map(describeSource),
  };
  mkdirSync(OUT, { recursive: true });
  const written = join(OUT, `bundle.${process.pid}`);
  writeFileSync(written, JSON.stringify(manifest));
  renameSync(written, join(OUT, "bundle.json"));
}

// A module that reads a file beside itself finds it where it was written.
const ownLocation: Plugin = {
  name: "own location",
  setup(builder) {
    builder.onLoad({ filter: /\/(cli|client|contract|server)\/.*\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      if (path.includes("/node_modules/") || !text.includes("import.meta")) return undefined;
      const fromBundle = JSON.stringify(relative(OUT, path));
      const contents = text
        .replaceAll("import.meta.dirname", `$dirname($resolve(__dirname, ${fromBundle}))`)
        .replaceAll("import.meta.url", `new URL(${fromBundle}, $url)`);
      return { contents: `import { dirname as $dirname, resolve as $resolve } from "node:path";\n${contents}`, loader: "ts" };
    });
  },
};

// A class for each type of object and for each API, of which we use none.
const UNUSED_IN_KUBERNETES_CLIENT = /^export .*"\.\/models\/.*$|^export .*'\.\/types\/.*$|^export .*"\.\/apis\/.*$/gm;

const usedPartOfKubernetesClient: Plugin = {
  name: "used part of the Kubernetes client",
  setup(builder) {
    builder.onLoad({ filter: /@kubernetes\/client-node\/dist\/gen\/index\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replace(UNUSED_IN_KUBERNETES_CLIENT, ""),
    }));
  },
};

function describeSource(path: string): { path: string; size: number; changedMs: number; hash: string } {
  const { size, mtimeMs } = statSync(join(ROOT, path));
  return {
    path,
    size,
    changedMs: Math.floor(mtimeMs),
    hash: createHash("sha1")
      .update(readFileSync(join(ROOT, path)))
      .digest("hex"),
  };
}
