import { mkdirSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import type { Log } from "../../../log.ts";
import { plainRunner } from "../../host/file-runner.ts";
import { createNamespaceRunner } from "../../host/rootless/namespace-runner.ts";
import { findSubIds } from "../../host/rootless/sub-ids.ts";
import { createImageStore, type ImageStore } from "./image-store.ts";

// The part of the configuration that images need.
export interface ImagesConfig {
  dataDir: string;
  diskReserveMib: number;
  registryAuthFile: string | null;
  registryCertificatesDir: string | null;
}

export const registryOf = ({ registryAuthFile, registryCertificatesDir }: ImagesConfig) => ({
  authFile: registryAuthFile && resolve(registryAuthFile),
  certificatesDir: registryCertificatesDir && resolve(registryCertificatesDir),
});

// Opens the images of an installation for a command. A server may use them at the same time.
export function openImages(config: ImagesConfig, log: Log): ImageStore {
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
  const dataDir = realpathSync(config.dataDir);
  const subIds = findSubIds();
  const namespace = process.getuid?.() === 0 ? undefined : createNamespaceRunner("ids" in subIds ? subIds.ids : undefined);
  const { diskReserveMib } = config;
  const store = createImageStore({ dataDir, files: namespace ?? plainRunner, log, diskReserveMib, registry: registryOf(config) });
  return {
    ...store,
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await namespace?.[Symbol.asyncDispose]();
    },
  };
}
