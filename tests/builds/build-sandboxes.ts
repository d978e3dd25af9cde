import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { machine, type Missing } from "../support/machine.ts";
import { busyboxMissing } from "../support/registry/images.ts";
import type { Berth } from "../support/servers/berth.ts";

// The needs of a machine that builds images.
export const buildsMissing: Missing[] = [
  machine.root,
  await machine.oci(),
  machine.command("buildah"),
  machine.imageTools(),
  busyboxMissing,
];

// The names of the sandboxes in which the server builds images at the moment.
export function buildSandboxes({ dataDir }: Berth): string[] {
  const folder = join(dataDir, "builds/sandboxes");
  return existsSync(folder) ? readdirSync(folder) : [];
}
