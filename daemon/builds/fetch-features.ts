import { lstatSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import type { BuildPlan, WantedFeature } from "./build-plan.ts";
import { MAX_FEATURES, parseFeature, TOO_MANY, toVariables, type Feature } from "./feature.ts";
import { pathInRepository } from "./repository-path.ts";
import type { RunTool } from "./run-tool.ts";

const LAYER = "application/vnd.devcontainers.layer.v1+tar";
const MAX_FILE_BYTES = 256 * 1024;
const REFERENCE = /^[a-z0-9][a-z0-9.-]*(:\d+)?(\/[a-z0-9._-]+)+(:[\w.-]+|@sha256:[0-9a-f]{64})?$/;

// The features of a plan with those that they depend on. Features of a registry are fetched into `folder`.
export async function fetchFeatures(
  { features: wanted }: BuildPlan,
  { repository, folder, run }: { repository: string; folder: string; run: RunTool },
): Promise<Feature[]> {
  const found: Feature[] = [];
  const isFound = ({ id, options }: WantedFeature, feature: Feature) =>
    feature.id === id && Object.entries(toVariables(options)).every(([name, value]) => feature.options[name] === value);
  const left: WantedFeature[] = [...wanted];
  for (let next = left.shift(); next !== undefined; next = left.shift()) {
    const { id } = next;
    if (found.some((feature) => isFound(next!, feature))) continue;
    if (found.length >= MAX_FEATURES) throw new Error(TOO_MANY);
    const at = next.folder === null ? await fetchFeature(id, join(folder, String(found.length)), run) : join(repository, next.folder);
    const feature = parseFeature(readOwnFile(id, at), { ...next, folder: at });
    found.push(feature);
    left.push(...feature.dependsOn.map((each) => inFolder(each, next!)));
  }
  return found;
}

// A link could lead to a device, which has no end.
function readOwnFile(id: string, folder: string): string {
  const file = join(folder, "devcontainer-feature.json");
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (!found?.isFile()) throw new Error(`The feature ${id} has no devcontainer-feature.json.`);
  if (found.size > MAX_FILE_BYTES) throw new Error(`The devcontainer-feature.json of ${id} is larger than ${MAX_FILE_BYTES / 1024} KiB.`);
  return readFileSync(file, "utf8");
}

// A local feature names others relative to the folder of devcontainer.json, which is its own folder without its id.
function inFolder(dependency: WantedFeature, { id, folder }: WantedFeature): WantedFeature {
  if (!dependency.id.startsWith(".") || folder === null) return dependency;
  const parent = folder.endsWith(normalize(id)) ? folder.slice(0, -normalize(id).length) : dirname(folder);
  return { ...dependency, folder: pathInRepository(parent, dependency.id, "The feature") };
}

async function fetchFeature(id: string, folder: string, run: RunTool): Promise<string> {
  if (!REFERENCE.test(id))
    throw new Error(
      `The feature ${id} is neither a folder, such as ./my-feature, nor in a registry, such as ghcr.io/owner/features/name:1.`,
    );
  const [fetched, unpacked] = [join(folder, "fetched"), join(folder, "unpacked")];
  mkdirSync(unpacked, { recursive: true });
  await run("skopeo", ["--insecure-policy", "copy", "--quiet", `docker://${id}`, `dir:${fetched}`]);
  const { layers = [] } = JSON.parse(readFileSync(join(fetched, "manifest.json"), "utf8")) as {
    layers?: { mediaType: string; digest: string }[];
  };
  const layer = layers.find(({ mediaType }) => mediaType === LAYER);
  if (!layer) throw new Error(`${id} is not a feature.`);
  await run("tar", ["-xf", join(fetched, layer.digest.replace("sha256:", "")), "-C", unpacked, "--no-same-owner"]);
  return unpacked;
}
