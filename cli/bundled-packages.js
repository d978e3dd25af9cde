import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";

// Loads packages from the bundles of scripts/bundle-packages.ts, which takes a fraction of the time. No-op if there are none, or if
// another version is installed since.
export function useBundledPackages() {
  const bundles = readJson("dist/packages.json");
  if (!bundles) return;
  const isCurrent = ([name, version]) => readJson(`../node_modules/${name}/package.json`)?.version === version;
  if (!Object.entries(bundles.versions).every(isCurrent)) return;
  const urls = new Map(Object.entries(bundles.files).map(([name, file]) => [name, new URL(`dist/${file}`, import.meta.url).href]));
  registerHooks({
    resolve(specifier, context, next) {
      const url = urls.get(specifier);
      // `require` gets the original: a bundle has the form that `import` sees.
      return url && context.conditions.includes("import") ? { url, format: "module", shortCircuit: true } : next(specifier, context);
    },
  });
}

function readJson(path) {
  try {
    return JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"));
  } catch {
    return undefined;
  }
}
