import { basename, dirname, isAbsolute, join } from "node:path";
import type { AgentState } from "@berth/contract/daemon.ts";
import type { AgentProgram } from "@berth/contract/daemon-internal.ts";
import { AppError } from "@berth/contract/errors.ts";
import type { Environment } from "../../programs/environment.ts";
import { isProgram } from "../../programs/is-program.ts";

// The state of an agent that is not running: stopped, or the reason why it cannot start.
export function restingState(environment: Environment): AgentState {
  const candidates = agentsOf(environment);
  const [preferred] = candidates;
  if (!preferred) return { status: "none", name: null };
  const agent = chooseAgent(environment);
  if (!agent) {
    const names = candidates.map(({ command }) => basename(command));
    const message = `The program of the coding agent (${names.join(" or ")}) is not installed in this sandbox.`;
    return { status: "unavailable", name: basename(preferred.command), message };
  }
  const name = basename(agent.command);
  const env = agentEnvironment(environment, agent);
  const missing = agent.requiredEnv.filter((variable) => !env[variable]);
  if (missing.length > 0)
    return { status: "unconfigured", name, missing, message: `To use the agent, set ${missing.join(", ")} for this session.` };
  return { status: "stopped", name };
}

// The error for a state in which the agent cannot start; null if it can.
export function unavailableError({ status, message }: AgentState): AppError | null {
  const isUnavailable = status === "none" || status === "unavailable" || status === "unconfigured";
  return isUnavailable ? new AppError(`agent_${status}`, { message }) : null;
}

// The first agent whose program is installed. Not cached, because the user may install one at any time.
export function chooseAgent(environment: Environment): AgentProgram | undefined {
  return agentsOf(environment).find((agent) => isInstalled(agent.command, agentEnvironment(environment, agent).PATH ?? ""));
}

// PATH includes the folder of our Node, which contains the agents that come with Berth.
export function agentEnvironment(environment: Environment, agent: AgentProgram): Record<string, string> {
  const env = environment.forAgent(agent);
  return { ...env, PATH: `${env.PATH}:${dirname(process.execPath)}` };
}

const RELAYED = /^http:\/\/127\.0\.0\.1:\d+\/model\//;

// The server replaces the model in every request if it has a name for it, which it passes on in these variables.
export function isModelFixed({ request: { env } }: Environment): boolean {
  const isRelayed = (url: string | undefined) => RELAYED.test(url ?? "");
  return (
    (isRelayed(env.OPENAI_BASE_URL) && Boolean(env.OPENAI_MODEL)) || (isRelayed(env.ANTHROPIC_BASE_URL) && Boolean(env.ANTHROPIC_MODEL))
  );
}

// Whether the agent reaches its model through the server, as far as its settings say.
export function usesModelRelay(environment: Environment): boolean {
  const agent = chooseAgent(environment);
  return agent !== undefined && Object.values(agentEnvironment(environment, agent)).some((value) => RELAYED.test(value));
}

function agentsOf({ request: { agent, fallbackAgents = [] } }: Environment): AgentProgram[] {
  return agent ? [agent, ...fallbackAgents] : [];
}

export function isInstalled(command: string, path: string): boolean {
  if (isAbsolute(command)) return isProgram(command);
  // A path relative to the workspace, whose files may change at any time. The start reports whether it exists.
  if (command.includes("/")) return true;
  return path.split(":").some((folder) => folder !== "" && isProgram(join(folder, command)));
}
