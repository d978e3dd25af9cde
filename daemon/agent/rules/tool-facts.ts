import { readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { ToolCallUpdate } from "@agentclientprotocol/sdk";
import type { PermissionRule } from "@berth/contract/agent.ts";
import { toolKindOf, type ToolKind } from "../conversations/tool-kind.ts";
import { fieldOf, touchedPaths } from "../conversations/touched-paths.ts";

// The facts of a tool call that rules look at.
export interface ToolFacts {
  tool: Exclude<PermissionRule["tool"], "*">;
  // Empty if the agent does not say it. Agents may say it more than once, and not always the same.
  commands: string[];
  files: ToolFile[];
}

// Relative to the workspace. null: outside of it.
export interface ToolFile {
  // As the agent names it.
  named: string | null;
  // Where links lead.
  real: string | null;
}

const MAX_LINKS = 40;

// `calls` are all that the agent has said about one tool call, the question for permission last.
export function toolFacts(calls: ToolCallUpdate[], workspace: string): ToolFacts {
  const commands = [...new Set(calls.flatMap(({ rawInput }) => commandsOf(rawInput)))];
  const paths = [...new Set(calls.flatMap((call) => [...touchedPaths(call), ...foldersOf(call.rawInput)]))];
  const title = calls.findLast((call) => call.title)?.title ?? "";
  const kind = toolKindOf(calls.findLast((call) => call.kind)?.kind, { title });
  return {
    tool: ruleTool(kind, { hasCommand: commands.length > 0 }),
    commands,
    files: paths.map((path) => toolFile(path, workspace)),
  };
}

export function ruleTool(kind: ToolKind, { hasCommand }: { hasCommand: boolean }): ToolFacts["tool"] {
  if (hasCommand || kind === "execute") return "shell";
  return kind === "think" ? "other" : kind;
}

function commandsOf(input: unknown): string[] {
  const command = fieldOf(input, "command");
  if (typeof command === "string") return [command];
  if (!Array.isArray(command) || !command.every((word) => typeof word === "string")) return [];
  const [shell = "", flag = "", script] = command;
  const isScript = /(^|\/)(ba|z)?sh$/.test(shell) && /^-l?c$/.test(flag) && command.length === 3;
  return isScript && script !== undefined ? [script] : [command.join(" ")];
}

// The folder in which a command runs.
const foldersOf = (input: unknown): string[] =>
  ["workdir", "cwd"].flatMap((name) => {
    const folder = fieldOf(input, name);
    return typeof folder === "string" ? [folder] : [];
  });

function toolFile(path: string, workspace: string): ToolFile {
  const named = resolve(workspace, path);
  return { named: within(workspace, named), real: within(realPath(workspace), realPath(named)) };
}

function within(folder: string, path: string): string | null {
  const inside = relative(folder, path);
  return inside === ".." || inside.startsWith("../") ? null : inside;
}

// Of a file that may not exist yet, also behind a link.
function realPath(path: string, links = 0): string {
  try {
    return realpathSync(path);
  } catch {
    if (dirname(path) === path || links > MAX_LINKS) return "/";
    const folder = realPath(dirname(path), links);
    const target = linkTarget(join(folder, basename(path)));
    return target === null ? join(folder, basename(path)) : realPath(resolve(folder, target), links + 1);
  }
}

function linkTarget(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}
