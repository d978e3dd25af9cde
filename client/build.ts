import { buildNpmPackage } from "../scripts/npm-package.ts";

// Inside this repository the sources are used directly.
export const buildClient = (): string => buildNpmPackage({ folder: import.meta.dirname, entry: "index", file: "berth-client.tgz" });

if (import.meta.main) buildClient();
