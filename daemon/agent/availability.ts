import { accessSync, constants, statSync } from "node:fs";
import { basename, isAbsolute, join } from "node:path";
import type { AgentProgram, AgentState } from "@berth/contract/daemon.ts";
import type { Environment } from "../processes/environment.ts";

// What can be said of the agent without its program running.
export function restingState(environment: Environment): AgentState {
  const candidates = agentsOf(environment);
  const [preferred] = candidates;
  if (!preferred) return { status: "none", name: null };
  const agent = chooseAgent(environment);
  if (!agent) {
    const names = candidates.map(({ command }) => basename(command));
    const message = `This sandbox has no program for its coding agent (${names.join(" or ")}).`;
    return { status: "unavailable", name: basename(preferred.command), message };
  }
  const name = basename(agent.command);
  const env = agentEnvironment(environment, agent);
  const missing = agent.requiredEnv.filter((variable) => !env[variable]);
  if (missing.length > 0)
    return { status: "unconfigured", name, missing, message: `To use the agent, set ${missing.join(", ")} for this session.` };
  return { status: "stopped", name };
}

// The first that the sandbox has a program for. Looked up each time: its user may install one.
export function chooseAgent(environment: Environment): AgentProgram | undefined {
  return agentsOf(environment).find((agent) => isInstalled(agent.command, agentEnvironment(environment, agent).PATH ?? ""));
}

// Our runtime folder holds the agents that come with Berth.
export function agentEnvironment(environment: Environment, agent: AgentProgram): Record<string, string> {
  const env = environment.forAgent(agent);
  return { ...env, PATH: `${env.PATH}:${join(import.meta.dirname, "bin")}` };
}

function agentsOf({ request: { agent, fallbackAgents = [] } }: Environment): AgentProgram[] {
  return agent ? [agent, ...fallbackAgents] : [];
}

function isInstalled(command: string, path: string): boolean {
  if (isAbsolute(command)) return isProgram(command);
  // Relative to the workspace, whose files change at any time: found out at the start.
  if (command.includes("/")) return true;
  return path.split(":").some((folder) => folder !== "" && isProgram(join(folder, command)));
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
