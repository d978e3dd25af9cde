import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

const loaded = new Map<string, unknown>();

// Loads the native part of a package on first use. `require` would load Node's module loader for it.
export function requireNative(file: string): unknown {
  if (!loaded.has(file)) {
    const module = { exports: {} };
    process.dlopen(module, resolveNative(file));
    loaded.set(file, module.exports);
  }
  return loaded.get(file);
}

// Packages are in a `node_modules` beside this file or above or, in the bundle, in the runtime folder.
export function resolveNative(file: string): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const path = join(folder, "node_modules", file);
    if (existsSync(path)) return path;
    if (folder === dirname(folder)) throw new Error(`${file} is not installed`);
  }
}
