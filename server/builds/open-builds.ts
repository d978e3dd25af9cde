import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../clock.ts";
import type { Config } from "../config/config.ts";
import type { Driver } from "../drivers/driver.ts";
import { buildsRefusal, openBuildDriver } from "../drivers/index.ts";
import { createLocalEgress } from "../egress/local-egress.ts";
import { silentLog, type Log } from "../log.ts";
import { createBuildSandboxes, destroyAll } from "./build-sandboxes.ts";
import { createImageBuilds, noBuilds, type ImageBuilds } from "./image-builds.ts";

export interface OpenBuildsOptions {
  config: Config;
  driver: Driver;
  // The ports on which this server listens.
  ownPorts: readonly number[];
  clock: Clock;
  log: Log;
}

// The data folder of the sandboxes that build images. It also holds the archives of images until they are stored.
export const BUILDS_FOLDER = "builds";

export async function openBuilds({ config, driver, ownPorts, clock, log }: OpenBuildsOptions): Promise<ImageBuilds> {
  const refusal = await buildsRefusal(driver, config);
  const { importArchive, stateOf } = driver.images ?? {};
  if (refusal !== null || !importArchive || !stateOf) return noBuilds(refusal ?? "this server has no store of images.");
  const dataDir = join(config.dataDir, BUILDS_FOLDER);
  const egress = createLocalEgress({ dataDir, log, clock, allow: config.egressAllow, ownPorts });
  const openDriver = () => openBuildDriver({ ...config, dataDir }, log);
  const sandboxes = createBuildSandboxes({ openDriver, hasLeft: existsSync(dataDir), egress, log });
  return createImageBuilds({ sandboxes, images: { importArchive, stateOf }, folder: join(dataDir, "archives"), log });
}

// Destroys the sandboxes of a server that was killed.
export async function endLeftBuilds(config: Config): Promise<void> {
  const dataDir = join(config.dataDir, BUILDS_FOLDER);
  if (!existsSync(dataDir)) return;
  await using driver = await openBuildDriver({ ...config, dataDir }, silentLog);
  await destroyAll(driver);
}
