import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseJsonWithComments } from "./json-with-comments.ts";

// The part of a repository's devcontainer.json that applies to a sandbox.
export interface Devcontainer {
  containerEnv: Record<string, string>;
  postCreate: string[][];
  postStart: string[][];
  // Sentences about what does not apply.
  remarks: string[];
}

const FILES = [".devcontainer/devcontainer.json", ".devcontainer.json"];
const USED = new Set(["$schema", "name", "containerEnv", "postCreateCommand", "postStartCommand", "forwardPorts"]);
const FOLDER = "${containerWorkspaceFolder}";
const VARIABLE = /^(?!BERTH_)[^=\0]{1,128}$/;

// null: the repository has none, or none that can be read, which `tell` explains.
export function readDevcontainer(root: string, tell: (sentence: string) => void): Devcontainer | null {
  const file = FILES.find((name) => readText(join(root, name)) !== null);
  if (file === undefined) return null;
  try {
    return toDevcontainer(parseJsonWithComments(readText(join(root, file)) ?? ""), root);
  } catch (error) {
    tell(`${file} is not used: ${error instanceof Error ? error.message : String(error)}`);
    return null;
  }
}

function toDevcontainer(parsed: unknown, root: string): Devcontainer {
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) throw new Error("it is not an object");
  const { containerEnv = {}, postCreateCommand, postStartCommand, ...rest } = parsed as Record<string, unknown>;
  const variables = Object.entries(containerEnv as Record<string, unknown>).map(
    ([name, value]) => [name, withFolder(value, root)] as const,
  );
  const usable = variables.filter(([name, value]) => VARIABLE.test(name) && value !== null);
  const unusable = variables.filter((pair) => !usable.includes(pair)).map(([name]) => `containerEnv.${name}`);
  const unused = [...Object.keys(rest).filter((name) => !USED.has(name)), ...unusable];
  return {
    containerEnv: Object.fromEntries(usable) as Record<string, string>,
    postCreate: commandsOf(postCreateCommand),
    postStart: commandsOf(postStartCommand),
    remarks: [
      ...(unused.length > 0 ? [`devcontainer.json: these properties do not apply here: ${unused.join(", ")}.`] : []),
      ...(postStartCommand === undefined
        ? []
        : ["devcontainer.json: postStartCommand runs now, and not again when the session is resumed."]),
    ],
  };
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

function readText(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}
