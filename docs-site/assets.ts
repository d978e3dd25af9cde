import { createHash } from "node:crypto";
import { copyFileSync, readFileSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { build } from "esbuild";
import { ROOT } from "./sources.ts";

export interface Assets {
  style: string;
  script: string;
  // Only for the reference of the API.
  tryIt: string;
  // Runs before the page is painted, so that a dark page does not start white.
  theme: string;
  icon: string;
}

// Bundles scripts and styles. Their names contain a hash of their content.
export async function bundleAssets(folder: string): Promise<Assets> {
  const [{ metafile }, theme] = await Promise.all([
    build({
      ...OPTIONS,
      outdir: folder,
      entryPoints: ["docs-site/browser/main.ts", "docs-site/browser/try-it.js", "docs-site/styles/index.css"],
      splitting: true,
      format: "esm",
    }),
    build({ ...OPTIONS, outdir: folder, entryPoints: ["docs-site/browser/theme.ts"], format: "iife" }),
  ]);
  const outputs = Object.entries({ ...metafile.outputs, ...theme.metafile.outputs });
  const addressOf = (source: string): string => {
    const [path] = outputs.find(([, { entryPoint }]) => entryPoint === `docs-site/${source}`)!;
    return `/docs/assets/${basename(path)}`;
  };
  return {
    style: addressOf("styles/index.css"),
    script: addressOf("browser/main.ts"),
    tryIt: addressOf("browser/try-it.js"),
    theme: addressOf("browser/theme.ts"),
    icon: copyAsset(join(ROOT, "web/public/assets/icon.svg"), folder),
  };
}

const OPTIONS = {
  absWorkingDir: ROOT,
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  bundle: true,
  target: "es2022",
  minify: true,
  metafile: true,
  logLevel: "silent",
} as const;

// The address of a file whose name there contains a hash of its content, so that browsers can keep it.
export function assetAddress(path: string, content: Buffer | string): string {
  const hash = createHash("sha256").update(content).digest("hex").slice(0, 8);
  return `/docs/assets/${basename(path, extname(path))}-${hash}${extname(path)}`;
}

function copyAsset(path: string, folder: string): string {
  const address = assetAddress(path, readFileSync(path));
  copyFileSync(path, join(folder, basename(address)));
  return address;
}
