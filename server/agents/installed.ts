import { execFile } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import { promisify } from "node:util";
import type { Template } from "@berth/contract";
import { KNOWN_AGENTS, type KnownAgent, programName } from "./catalogue.ts";

// Finds out which agents the sandboxes of this machine can start. If the programs are in an image, only the daemon in a sandbox can
// tell (its state `unavailable`).

export interface AgentProbe {
  agent: KnownAgent;
  state: "usable" | "missing" | "broken";
  // A sentence for the operator.
  text: string;
}

const PROBE_TIMEOUT_MS = 20_000;
// Starting opencode takes more than a second of processor time, so a program that has run is not started again until its file changes.
const usable = new Map<string, AgentProbe>();

// Starts each known agent once to read its version. An installed program may still not run, because a library or a processor feature is
// missing.
export function probeAgents(runtimeDir: string): Promise<AgentProbe[]> {
  return Promise.all((Object.keys(KNOWN_AGENTS) as KnownAgent[]).map((agent) => probe(agent, join(runtimeDir, "host", agent))));
}

async function probe(agent: KnownAgent, path: string): Promise<AgentProbe> {
  if (!isProgram(path)) return { agent, state: "missing", text: `not installed (for ${process.platform}-${process.arch})` };
  const { ino, size, mtimeMs } = statSync(path);
  const file = [path, ino, size, mtimeMs].join(" ");
  const known = usable.get(file);
  if (known) return known;
  // Some agents create folders at every start, so they get a temporary home.
  await using home = await mkdtempDisposable(join(tmpdir(), "berth-agent-"));
  try {
    const env = { PATH: process.env.PATH, HOME: home.path, TMPDIR: home.path };
    const { stdout } = await promisify(execFile)(path, ["--version"], { timeout: PROBE_TIMEOUT_MS, env });
    const found: AgentProbe = { agent, state: "usable", text: `version ${stdout.trim().split("\n").at(-1)?.trim()}` };
    usable.set(file, found);
    return found;
  } catch (error) {
    return { agent, state: "broken", text: `installed, but it does not run here (${lastErrorLine(error)})` };
  }
}

function lastErrorLine(error: unknown): string {
  const { stderr, signal, message } = error as Error & { stderr?: string; signal?: string };
  return stderr?.trim().split("\n").at(-1) || signal || message;
}

// Where the sandboxes of this server find their programs.
export interface ProgramSources {
  // The driver that runs the sandboxes.
  driver: string;
  runtimeDir: string;
  sandboxRuntime: "mount" | "image";
}

// The agent that a template's sandboxes would start.
export type TemplateAgent =
  // The template has no agent.
  | { state: "none" }
  | { state: "installed"; name: string }
  // This machine has no program for any of the template's agents.
  | { state: "missing"; names: string[] }
  // The program may be in the image, where we cannot look.
  | { state: "in image"; name: string };

export function findAgent(template: Template, { driver, runtimeDir, sandboxRuntime }: ProgramSources): TemplateAgent {
  const { agent, fallbackAgents = [], root = "/" } = template;
  if (!agent) return { state: "none" };
  const hasImage = driver === "kubernetes" || driver === "docker" || (driver === "oci" && template.image !== undefined);
  const isRuntimeInImage = driver === "kubernetes" || (driver === "docker" && sandboxRuntime === "image");
  const runtimeFolders = isRuntimeInImage ? [] : [join(runtimeDir, "bin")];
  const path = driver === "process" ? (process.env.PATH ?? "").split(delimiter) : PATH_IN_SANDBOXES.map((folder) => join(root, folder));
  const folders = hasImage ? runtimeFolders : [...path, ...runtimeFolders];
  const found = [agent, ...fallbackAgents].find(({ command }) =>
    isAbsolute(command) ? !hasImage && isProgram(join(root, command)) : folders.some((folder) => isProgram(join(folder, command))),
  );
  if (found) return { state: "installed", name: programName(found.command) };
  if (hasImage) return { state: "in image", name: programName(agent.command) };
  return { state: "missing", names: [agent, ...fallbackAgents].map(({ command }) => programName(command)) };
}

const PATH_IN_SANDBOXES = ["usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin"];

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
