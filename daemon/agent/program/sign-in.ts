import type { AuthMethod, InitializeResponse } from "@agentclientprotocol/sdk";
import type { AgentSignIn } from "@berth/contract/daemon.ts";
import type { AgentProgram } from "@berth/contract/daemon-internal.ts";
import { isStringArray, isStringRecord } from "../../http/body.ts";
import { plainLine } from "../conversations/plain-text.ts";

// The ways to sign in that an agent announces. Of those, a person can run a program in a terminal, or an operator can set variables.
export interface SignIns {
  terminals: TerminalSignIn[];
  variables: string[];
}

export type TerminalSignIn = AgentSignIn & Pick<AgentProgram, "command" | "args" | "env">;

const MAX_METHODS = 10;
const MAX_PARTS = 50;

export function signInsOf({ authMethods }: InitializeResponse, program: AgentProgram): SignIns {
  const methods = (Array.isArray(authMethods) ? authMethods : []).slice(0, MAX_METHODS).filter(({ id }) => typeof id === "string");
  return {
    terminals: methods.flatMap((method) => terminalOf(method, program) ?? []),
    variables: methods.flatMap(variablesOf).slice(0, MAX_PARTS),
  };
}

function terminalOf(method: AuthMethod, program: AgentProgram): TerminalSignIn | null {
  const { id, name, description } = method;
  const about = {
    id,
    name: plainLine(String(name ?? id), 100),
    ...(typeof description === "string" && description !== "" ? { description: plainLine(description, 300) } : {}),
  };
  if ("type" in method && method.type === "terminal") {
    const { args = [], env = {} } = method;
    if (!isPassable(args, env)) return null;
    return { ...about, command: program.command, args: [...program.args, ...args], env };
  }
  // Agents that are older than the type `terminal`, opencode among them, name a whole command in this way.
  const older = method._meta?.["terminal-auth"] as Partial<Record<string, unknown>> | undefined;
  if (!older || typeof older.command !== "string" || older.command === "") return null;
  const { command, args = [], env = {} } = older;
  return isPassable([command], {}) && isPassable(args, env)
    ? { ...about, command, args: args as string[], env: env as Record<string, string> }
    : null;
}

// The draft of the protocol has a type for variables, which some agents use.
function variablesOf(method: AuthMethod): string[] {
  const { type, vars } = method as { type?: unknown; vars?: unknown };
  if (type !== "env_var" || !Array.isArray(vars)) return [];
  return vars.flatMap(({ name }: { name?: unknown }) =>
    typeof name === "string" && /^[A-Za-z_][A-Za-z0-9_]{0,99}$/.test(name) ? name : [],
  );
}

function isPassable(args: unknown, env: unknown): boolean {
  return (
    isStringArray(args) &&
    isStringRecord(env) &&
    args.length <= MAX_PARTS &&
    Object.keys(env).length <= MAX_PARTS &&
    // The operating system cannot pass a NUL character.
    ![...args, ...Object.entries(env).flat()].some((text) => text.includes("\0") || text.length > 4096)
  );
}
