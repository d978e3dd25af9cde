import { buildNpmPackage } from "../../scripts/npm-package.ts";

// The package contains the client, which no registry has.
export const buildComputeSdk = (): string =>
  buildNpmPackage({ folder: import.meta.dirname, entry: "clients/computesdk/index", file: "berth-computesdk.tgz" });

if (import.meta.main) buildComputeSdk();
