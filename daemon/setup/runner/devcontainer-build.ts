import { USER_NAME, type BuildPlan, type DockerfileBuild } from "../../builds/build-plan.ts";
import { isBounded, wantedFeatures } from "../../builds/feature.ts";
import { pathInRepository } from "../../builds/repository-path.ts";
import { recordOf, stringsOf } from "../../io/json-values.ts";
import { substitute } from "./variables.ts";

const MAX_TARGET_LENGTH = 128;

// The build that devcontainer.json describes. null: it describes none, or names no image to build on. `folder` is that of the file, below the
// repository. Throws if the image cannot be built.
export function buildPlanOf(
  parsed: Record<string, unknown>,
  { root, folder, image }: { root: string; folder: string; image: string | null },
): BuildPlan | null {
  const dockerfile = dockerfileOf(parsed, root, folder);
  const features = wantedFeatures(parsed.features).map((feature) => ({
    ...feature,
    folder: feature.id.startsWith(".") ? pathInRepository(folder, feature.id, "The feature") : null,
  }));
  const [containerUser, remoteUser] = [userOf(parsed.containerUser), userOf(parsed.remoteUser)];
  if (!dockerfile && (image === null || (features.length === 0 && containerUser === null && remoteUser === null))) return null;
  const order = parsed.overrideFeatureInstallOrder;
  return {
    base: dockerfile ?? { image: image! },
    features,
    installOrder: Array.isArray(order) ? order.filter((id) => typeof id === "string") : [],
    containerUser,
    remoteUser,
  };
}

// Older files have `dockerFile` and `context` beside `build`.
function dockerfileOf(parsed: Record<string, unknown>, root: string, folder: string): DockerfileBuild | null {
  const build = recordOf(parsed.build);
  const dockerfile = build.dockerfile ?? build.dockerFile ?? parsed.dockerFile;
  if (typeof dockerfile !== "string") return null;
  const context = build.context ?? parsed.context ?? ".";
  return {
    dockerfile: pathInRepository(folder, dockerfile, "The Dockerfile"),
    context: pathInRepository(folder, typeof context === "string" ? context : ".", "The build's context"),
    args: argsOf(build.args, root),
    target: typeof build.target === "string" && build.target !== "" ? build.target.slice(0, MAX_TARGET_LENGTH) : null,
  };
}

// The variables of the session are not in the image, so those of a container are empty here.
function argsOf(values: unknown, root: string): Record<string, string> {
  const args = Object.fromEntries(Object.entries(stringsOf(values)).map(([name, value]) => [name, substitute(value, root, {}) ?? ""]));
  if (!isBounded(args)) throw new Error("the build has too many args, or too long ones");
  return args;
}

// The properties of `build` that do not apply.
export const unusedOf = (build: unknown): string[] =>
  Object.keys(recordOf(build))
    .filter((name) => !USED.has(name))
    .map((name) => `build.${name}`);

const USED = new Set(["dockerfile", "dockerFile", "context", "args", "target"]);

function userOf(value: unknown): string | null {
  if (value === undefined) return null;
  if (typeof value !== "string" || !USER_NAME.test(value)) throw new Error("the name of a user has characters that are not allowed");
  return value;
}
