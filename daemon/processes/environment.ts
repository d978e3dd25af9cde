import { userInfo } from "node:os";
import type { AgentProgram, StartRequest } from "@berth/contract/daemon.ts";
import { EGRESS_PORT } from "../egress/egress.ts";
import { badRequest } from "../http/http.ts";

// What the daemon was told about the session, and the environment of everything it runs. The daemon's own variables
// (BERTH_*) stay with the daemon.
export interface Environment {
  readonly started: boolean;
  readonly request: StartRequest;
  start(body: Record<string, unknown>): void;
  // For a terminal or a command: `extra` wins over the session's variables.
  forChild(extra?: Record<string, string>): Record<string, string>;
  // For an agent: the session's variables win over the agent's own.
  forAgent(agent: AgentProgram): Record<string, string>;
}

export interface EnvironmentOptions {
  base: NodeJS.ProcessEnv;
  workspace: string;
  home: string;
  // http://127.0.0.1:3128 when there is a way out, else undefined.
  proxyUrl: () => string | undefined;
}

export function createEnvironment({ base, workspace, home, proxyUrl }: EnvironmentOptions): Environment {
  let started = false;
  let request: StartRequest = { env: {}, agent: null, autoStartAgent: false };

  return {
    get started() {
      return started;
    },
    get request() {
      return request;
    },
    start(body) {
      request = parseStart(body);
      started = true;
    },
    forAgent: (agent) => ({ ...ours(), ...agent.env, ...session() }),
    forChild: (extra = {}) => ({ ...ours(), ...session(), ...extra }),
  };

  function session(): Record<string, string> {
    return throughProxy(request.env, proxyUrl());
  }

  function ours(): Record<string, string> {
    return {
      PATH: base.PATH ?? "/usr/local/bin:/usr/bin:/bin",
      HOME: home,
      LANG: base.LANG ?? "C.UTF-8",
      USER: userName(),
      SHELL: "/bin/bash",
      ...(base.TZ === undefined ? {} : { TZ: base.TZ }),
      ...proxyVariables(proxyUrl()),
      // Files in the workspace may belong to another id than ours on some engines; git would refuse to work with them.
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "safe.directory",
      GIT_CONFIG_VALUE_0: workspace,
    };
  }
}

function proxyVariables(url: string | undefined): Record<string, string> {
  if (url === undefined) return {};
  const direct = "localhost,127.0.0.1,::1";
  return {
    HTTP_PROXY: url,
    HTTPS_PROXY: url,
    http_proxy: url,
    https_proxy: url,
    NO_PROXY: direct,
    no_proxy: direct,
    NODE_USE_ENV_PROXY: "1",
  };
}

// The server writes addresses of its own below the usual port; here it may be another (egress.ts).
function throughProxy(env: Record<string, string>, url: string | undefined): Record<string, string> {
  const usual = `http://127.0.0.1:${EGRESS_PORT}/`;
  if (url === undefined || usual.startsWith(`${url}/`)) return env;
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) => [name, value.startsWith(usual) ? `${url}/${value.slice(usual.length)}` : value]),
  );
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A user id without a line in /etc/passwd.
    return "user";
  }
}

function parseStart(body: Record<string, unknown>): StartRequest {
  const { env = {}, agent = null, fallbackAgents = [], autoStartAgent = false, egressPass } = body;
  if (!isStringRecord(env)) throw badRequest("env must hold strings");
  // No program can be given such a variable.
  const possible = Object.fromEntries(Object.entries(env).filter((pair) => !pair.join("").includes("\0")));
  if (!Array.isArray(fallbackAgents)) throw badRequest("fallbackAgents must be an array");
  if (typeof autoStartAgent !== "boolean") throw badRequest("autoStartAgent must be a boolean");
  if (egressPass !== undefined && (typeof egressPass !== "string" || /[\r\n]/.test(egressPass)))
    throw badRequest("egressPass must be one line");
  return {
    env: possible,
    agent: agent === null ? null : parseAgent(agent),
    fallbackAgents: fallbackAgents.map(parseAgent),
    autoStartAgent,
    ...(egressPass === undefined ? {} : { egressPass }),
  };
}

function parseAgent(value: unknown): AgentProgram {
  if (typeof value !== "object" || value === null) throw badRequest("agent is malformed");
  const { command, args = [], env = {}, requiredEnv = [] } = value as Record<string, unknown>;
  if (typeof command !== "string" || !isStringArray(args) || !isStringRecord(env) || !isStringArray(requiredEnv))
    throw badRequest("agent is malformed");
  return { command, args, env, requiredEnv };
}

export const isStringArray = (value: unknown): value is string[] => Array.isArray(value) && value.every((item) => typeof item === "string");

export const isStringRecord = (value: unknown): value is Record<string, string> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && Object.values(value).every((item) => typeof item === "string");
