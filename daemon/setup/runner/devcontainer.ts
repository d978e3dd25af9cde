import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ExpectedPort } from "@berth/contract/daemon.ts";
import { parseJsonWithComments } from "./json-with-comments.ts";

// The part of a repository's devcontainer.json that applies to a sandbox.
export interface Devcontainer {
  containerEnv: Record<string, string>;
  postCreate: string[][];
  postStart: string[][];
  ports: ExpectedPort[];
  // null: it names none.
  image: string | null;
  // Sentences about what does not apply.
  remarks: string[];
}

const FILES = [".devcontainer/devcontainer.json", ".devcontainer.json"];
const USED = new Set(["$schema", "name", "containerEnv", "postCreateCommand", "postStartCommand", "forwardPorts", "portsAttributes"]);
const FOLDER = "${containerWorkspaceFolder}";
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
    return toDevcontainer(parseJsonWithComments(readText(join(root, file))), root);
  } catch (error) {
    tell(`${file} is not used: ${error instanceof Error ? error.message : String(error)}`);
    return null;
  }
}

function toDevcontainer(parsed: unknown, root: string): Devcontainer {
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) throw new Error("it is not an object");
  const { containerEnv = {}, postCreateCommand, postStartCommand, image, ...rest } = parsed as Record<string, unknown>;
  const variables = Object.entries(containerEnv as Record<string, unknown>).map(
    ([name, value]) => [name, withFolder(value, root)] as const,
  );
  let chars = 0;
  const isUsable = ([name, value]: readonly [string, string | null], index: number) =>
    VARIABLE.test(name) && value !== null && index < MAX_VARIABLES && (chars += name.length + value.length) <= MAX_VARIABLE_CHARS;
  const usable = new Map(variables.filter(isUsable));
  const unusable = variables.filter(([name]) => !usable.has(name)).map(([name]) => `containerEnv.${name}`);
  const foreign = (Array.isArray(rest.forwardPorts) ? rest.forwardPorts : []).filter((port) => typeof port !== "number");
  const unused = [
    ...Object.keys(rest).filter((name) => !USED.has(name)),
    ...unusable,
    ...(foreign.length > 0 ? ["forwardPorts of other containers"] : []),
  ];
  return {
    containerEnv: Object.fromEntries(usable) as Record<string, string>,
    postCreate: commandsOf(postCreateCommand),
    postStart: commandsOf(postStartCommand),
    ports: portsOf(rest),
    remarks: [
      ...(unused.length > 0 ? [`devcontainer.json: these properties do not apply here: ${listed(unused)}.`] : []),
      ...(image !== undefined && typeof image !== "string" ? ["devcontainer.json: the image is not a string."] : []),
    ],
    image: typeof image === "string" ? image.replaceAll(/[^\x21-\x7e]/g, "").slice(0, MAX_IMAGE_LENGTH) : null,
  };
}

const MAX_IMAGE_LENGTH = 255;
const MAX_PORTS = 50;
const MAX_LABEL_LENGTH = 60;

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

// null: it contains another variable, or it is no text.
function withFolder(value: unknown, root: string): string | null {
  const text = typeof value === "string" ? value.replaceAll(FOLDER, root) : null;
  return text === null || text.includes("${") || text.includes("\0") ? null : text;
}

// A shell command, the words of a command, or an object of several of them.
function commandsOf(value: unknown): string[][] {
  if (typeof value === "string") return value.trim() === "" ? [] : [["/bin/sh", "-c", value]];
  if (Array.isArray(value)) return value.length > 0 && value.every((word) => typeof word === "string") ? [value] : [];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(commandsOf) : [];
}

function listed(names: string[]): string {
  const some = names.slice(0, MAX_NAMED).map((name) => name.slice(0, MAX_LABEL_LENGTH));
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
