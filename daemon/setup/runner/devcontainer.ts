import { readFileSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import type { ExpectedPort, RepositorySettings } from "@berth/contract/daemon.ts";
import type { BuildPlan } from "../../builds/build-plan.ts";
import { editorSettingsOf } from "./editor-settings.ts";
import { buildPlanOf, unusedOf } from "./devcontainer-build.ts";
import { parseJsonWithComments } from "../../io/json-with-comments.ts";
import { recordOf } from "../../io/json-values.ts";
import { substitute } from "./variables.ts";

// The part of a repository's devcontainer.json that applies to a sandbox.
export interface Devcontainer {
  // containerEnv and remoteEnv: all programs of a session are remote.
  env: Record<string, string>;
  // onCreateCommand, updateContentCommand and postCreateCommand.
  postCreate: string[][];
  // postStartCommand and postAttachCommand.
  postStart: string[][];
  ports: ExpectedPort[];
  settings: RepositorySettings;
  // null: it names none.
  image: string | null;
  // null: there is nothing to build.
  build: BuildPlan | null;
  // Sentences about what does not apply.
  remarks: string[];
}

const FILES = [".devcontainer/devcontainer.json", ".devcontainer.json"];
const COMMANDS = ["onCreateCommand", "updateContentCommand", "postCreateCommand", "postStartCommand", "postAttachCommand"];
const BUILD = ["build", "dockerFile", "context", "features", "overrideFeatureInstallOrder"];
const USERS = ["containerUser", "remoteUser"];
const USED = new Set(["$schema", "name", "forwardPorts", "portsAttributes", "mounts", "customizations", ...COMMANDS, ...BUILD]);
// Far more than people write. Without a limit, a repository could keep the set-up busy, or make the environment too large for programs.
const MAX_FILE_BYTES = 256 * 1024;
const MAX_VARIABLES = 100;
const MAX_VARIABLE_CHARS = 64 * 1024;
const MAX_NAMED = 20;
const VARIABLE = /^(?!BERTH_)[^=\0]{1,128}$/;

// null: the repository has none, or none that can be read, which `tell` explains.
export function readDevcontainer(root: string, tell: (sentence: string) => void): Devcontainer | null {
  const file = FILES.find((name) => isFile(join(root, name)));
  if (file === undefined) return null;
  try {
    return toDevcontainer(parseJsonWithComments(readText(join(root, file))), root, dirname(file));
  } catch (error) {
    tell(`${file} is not used: ${error instanceof Error ? error.message : String(error)}`);
    return null;
  }
}

function toDevcontainer(parsed: unknown, root: string, folder: string): Devcontainer {
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) throw new Error("it is not an object");
  const { image: named, containerEnv, remoteEnv, ...rest } = parsed as Record<string, unknown>;
  const image = typeof named === "string" ? named.replaceAll(/[^\x21-\x7e]/g, "").slice(0, MAX_IMAGE_LENGTH) : null;
  const { env, unusable } = variablesOf({ containerEnv, remoteEnv }, root);
  const build = buildPlanOf(rest, { root, folder, image });
  const editor = editorSettingsOf(rest.customizations);
  const foreign = (Array.isArray(rest.forwardPorts) ? rest.forwardPorts : []).filter((port) => typeof port !== "number");
  const unused = [
    ...Object.keys(rest).filter((name) => !USED.has(name) && !(build && USERS.includes(name))),
    ...unusable,
    ...(build ? unusedOf(rest.build) : ["features"].filter((name) => name in rest)),
    ...(foreign.length > 0 ? ["forwardPorts of other containers"] : []),
    ...mountsElsewhere(rest.mounts, root),
    ...editor.unused.map((name) => `customizations.${name}`),
  ];
  const commands = (...names: string[]) => names.flatMap((name) => commandsOf(rest[name]));
  return {
    env,
    postCreate: commands("onCreateCommand", "updateContentCommand", "postCreateCommand"),
    postStart: commands("postStartCommand", "postAttachCommand"),
    ports: portsOf(rest),
    settings: editor.settings,
    remarks: [
      ...(editor.used.length > 0 ? [`The editor uses these settings of devcontainer.json: ${editor.used.join(", ")}.`] : []),
      ...(unused.length > 0 ? [`devcontainer.json: these properties do not apply here: ${listed(unused)}.`] : []),
      ...(named !== undefined && typeof named !== "string" ? ["devcontainer.json: the image is not a string."] : []),
    ],
    image,
    build,
  };
}

// The variables, and the names of those that cannot be used. `remoteEnv` takes precedence.
function variablesOf(properties: Record<"containerEnv" | "remoteEnv", unknown>, root: string) {
  const env: Record<string, string> = {};
  const unusable: string[] = [];
  let chars = 0;
  for (const [property, values] of Object.entries(properties))
    for (const [name, given] of Object.entries((values ?? {}) as Record<string, unknown>)) {
      const value = substitute(given, root);
      const isUsable =
        VARIABLE.test(name) &&
        value !== null &&
        Object.keys(env).length < MAX_VARIABLES &&
        (chars += name.length + value.length) <= MAX_VARIABLE_CHARS;
      if (isUsable) env[name] = value;
      else unusable.push(`${property}.${name}`);
    }
  return { env, unusable };
}

// The mounts that do not apply, named by their paths. A volume below the workspace or the home needs nothing, because files there are kept.
function mountsElsewhere(mounts: unknown, root: string): string[] {
  const others = (Array.isArray(mounts) ? mounts : []).flatMap((mount: unknown) => {
    const fields = typeof mount === "string" ? Object.fromEntries(mount.split(",").map((field) => field.trim().split("=", 2))) : mount;
    // A mount without a type is a volume.
    const { type = "volume", target, dst, destination } = recordOf(fields);
    const named = substitute(target ?? dst ?? destination, root);
    const path = named === null ? null : normalize(named);
    if (type === "volume" && path !== null && [`${root}/`, ...KEPT].some((folder) => `${path}/`.startsWith(folder))) return [];
    return [path === null ? "a mount without a path" : `${type === "volume" ? "volume" : "mount"} at ${path}`];
  });
  return [...new Set(others)];
}

const KEPT = ["/workspace/", "/home/user/"];
const MAX_IMAGE_LENGTH = 255;
const MAX_PORTS = 50;
const MAX_LABEL_LENGTH = 60;
const MAX_NAME_LENGTH = 100;

// Other forms, such as "db:5432", name ports of other containers.
function portsOf({ forwardPorts, portsAttributes }: Record<string, unknown>): ExpectedPort[] {
  if (!Array.isArray(forwardPorts)) return [];
  const attributes = (portsAttributes ?? {}) as Record<string, { label?: unknown } | null>;
  const numbers = forwardPorts.filter((port): port is number => Number.isInteger(port) && port > 0 && port < 65_536);
  return [...new Set(numbers)].slice(0, MAX_PORTS).map((port) => {
    const label = attributes[String(port)]?.label;
    return { port, label: typeof label === "string" && label.trim() !== "" ? label.trim().slice(0, MAX_LABEL_LENGTH) : null };
  });
}

// A shell command, the words of a command, or an object of several of them.
function commandsOf(value: unknown): string[][] {
  if (typeof value === "string") return value.trim() === "" ? [] : [["/bin/sh", "-c", value]];
  if (Array.isArray(value)) return value.length > 0 && value.every((word) => typeof word === "string") ? [value] : [];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(commandsOf) : [];
}

function listed(names: string[]): string {
  const some = names.slice(0, MAX_NAMED).map((name) => (name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH)}…` : name));
  return [...some, ...(names.length > MAX_NAMED ? [`${names.length - MAX_NAMED} more`] : [])].join(", ");
}

// A repository may have a link to a device, which has no end.
function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function readText(path: string): string {
  if (statSync(path).size > MAX_FILE_BYTES) throw new Error(`it is larger than ${MAX_FILE_BYTES / 1024} KiB`);
  return readFileSync(path, "utf8");
}
