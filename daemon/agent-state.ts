import { join } from "node:path";
import type { AgentState } from "@berth/contract/daemon.ts";
import type { Environment } from "./environment.ts";

// What can be said of the agent without its program running.
export function restingState(environment: Environment): AgentState {
  const spec = environment.request.agent;
  if (!spec) return { status: "none", name: null };
  const name = spec.command.slice(spec.command.lastIndexOf("/") + 1);
  const env = agentEnvironment(environment);
  const missing = spec.requiredEnv.filter((variable) => !env[variable]);
  if (missing.length > 0)
    return { status: "unconfigured", name, missing, message: `To use the agent, set ${missing.join(", ")} for this session.` };
  return { status: "stopped", name };
}

// Our runtime folder holds the default agent.
export function agentEnvironment(environment: Environment): Record<string, string> {
  const env = environment.forAgent();
  return { ...env, PATH: `${env.PATH}:${join(import.meta.dirname, "bin")}` };
}
