import { join } from "node:path";

// Loads the native part of a package, and Node's loader for it, on first use. Packages are resolved from this folder or, in the bundle,
// from the runtime folder.
export function requireNative(file: string): unknown {
  return resolver()(file);
}

export const resolveNative = (file: string): string => resolver().resolve(file);

function resolver(): NodeJS.Require {
  const { createRequire } = process.getBuiltinModule("node:module");
  return createRequire(join(import.meta.dirname, "daemon.cjs"));
}
