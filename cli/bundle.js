import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";

// The URL of the bundle that scripts/bundle-server.ts made. Undefined if there is none, or if a source or a package has changed since.
export function currentBundle() {
  try {
    const { entry, sources, packages } = JSON.parse(read("dist/bundle.json"));
    const isInstalled = ([name, version]) => JSON.parse(read(`../node_modules/${name}/package.json`)).version === version;
    return sources.every(isUnchanged) && Object.entries(packages).every(isInstalled)
      ? new URL(`dist/${entry}`, import.meta.url).href
      : undefined;
  } catch {
    // Something is missing.
    return undefined;
  }
}

// A copy or a checkout changes the time but not the text.
function isUnchanged({ path, size, changedMs, hash }) {
  const found = statSync(new URL(`../${path}`, import.meta.url));
  if (found.size !== size) return false;
  return (
    Math.floor(found.mtimeMs) === changedMs ||
    createHash("sha1")
      .update(read(`../${path}`))
      .digest("hex") === hash
  );
}

const read = (path) => readFileSync(new URL(path, import.meta.url), "utf8");
