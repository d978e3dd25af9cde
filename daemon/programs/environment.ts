import { userInfo } from "node:os";
import type { AgentProgram, LanguageServerProgram, McpServerAddress, StartRequest } from "@berth/contract/daemon-internal.ts";
import { EGRESS_PORT } from "../egress/egress-forwarder.ts";
import { isStringArray, isStringRecord } from "../http/body.ts";
import { badRequest } from "../http/errors.ts";
import { imageVariables } from "./image-variables.ts";
import { parseRule } from "./permission-rule.ts";
import { findBestShell } from "./shell.ts";

// The session's settings from the server, and the environment variables of every program that the daemon starts. The
// daemon's own variables (BERTH_*) are not passed on.
export interface Environment {
  readonly started: boolean;
  readonly request: StartRequest;
  start(body: Record<string, unknown>): void;
  // The variables of a terminal or a command. `extra` overrides the session's variables.
  forChild(extra?: Record<string, string>): Record<string, string>;
  // The MCP servers of the agent.
  mcpServers(): McpServerAddress[];
  // The variables of an agent. The session's variables override the agent's own.
  forAgent(agent: AgentProgram): Record<string, string>;
}

export interface EnvironmentOptions {
  base: NodeJS.ProcessEnv;
  workspace: string;
  home: string;
  // Such as http://127.0.0.1:3128; undefined if the sandbox has no egress.
  proxyUrl: () => string | undefined;
  // Variables of the repository, which everything else overrides.
  setupEnv: () => Record<string, string>;
}

export function createEnvironment({ base, workspace, home, proxyUrl, setupEnv }: EnvironmentOptions): Environment {
  let started = false;
  let user: string | undefined;
  let request: StartRequest = { env: {}, agent: null, autoStartAgent: false };
  const image = imageVariables(base);

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
    mcpServers: () =>
      (request.mcpServers ?? []).map((server) => ("url" in server ? { ...server, url: rewriteProxyUrl(server.url, proxyUrl()) } : server)),
    forAgent: (agent) => ({ ...image, ...setupEnv(), ...defaults(), ...agent.env, ...session() }),
    forChild: (extra = {}) => ({ ...image, ...setupEnv(), ...defaults(), ...session(), ...extra }),
  };

  function session(): Record<string, string> {
    return rewriteProxyUrls(request.env, proxyUrl());
  }

  function rewriteKey([key, value]: [key: string, value: string]): [key: string, value: string] {
    const url = proxyUrl();
    return [url === undefined ? key : key.replace(USUAL_URL, `${url}/`), value];
  }

  function defaults(): Record<string, string> {
    return {
      PATH: base.PATH ?? "/usr/local/bin:/usr/bin:/bin",
      HOME: home,
      LANG: image.LANG ?? "C.UTF-8",
      USER: (user ??= userName()),
      SHELL: findBestShell() ?? "/bin/sh",
      ...(base.TZ === undefined ? {} : { TZ: base.TZ }),
      ...proxyVariables(proxyUrl()),
      // On some engines the workspace belongs to another user id, and git would refuse to work in it.
      ...gitVariables([["safe.directory", workspace], ...(request.gitConfig ?? []).map(rewriteKey)]),
    };
  }
}

// Settings of git as environment variables: above the files of the system and the user, and not in the repository.
function gitVariables(config: [key: string, value: string][]): Record<string, string> {
  const entries = config.flatMap(([key, value], i) => [
    [`GIT_CONFIG_KEY_${i}`, key],
    [`GIT_CONFIG_VALUE_${i}`, value],
  ]);
  return { GIT_CONFIG_COUNT: String(config.length), ...(Object.fromEntries(entries) as Record<string, string>) };
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

const USUAL_URL = `http://127.0.0.1:${EGRESS_PORT}/`;

// The server writes its own URLs with the usual egress port. The actual port may differ (egress-forwarder.ts).
function rewriteProxyUrls(env: Record<string, string>, url: string | undefined): Record<string, string> {
  if (url === undefined || USUAL_URL.startsWith(`${url}/`)) return env;
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, rewriteProxyUrl(value, url)]));
}

const rewriteProxyUrl = (text: string, url: string | undefined): string =>
  url !== undefined && text.startsWith(USUAL_URL) ? `${url}/${text.slice(USUAL_URL.length)}` : text;

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // The user id has no entry in /etc/passwd.
    return "user";
  }
}

function parseStart(body: Record<string, unknown>): StartRequest {
  const {
    env = {},
    agent = null,
    fallbackAgents = [],
    autoStartAgent = false,
    languageServers = {},
    sandboxId,
    egressToken,
    gitConfig = [],
    mcpServers = [],
  } = body;
  if (!isStringRecord(env)) throw badRequest("env must contain only strings");
  // The operating system cannot pass a variable with a NUL character.
  const passable = Object.fromEntries(Object.entries(env).filter((pair) => !pair.join("").includes("\0")));
  if (!Array.isArray(fallbackAgents)) throw badRequest("fallbackAgents must be an array");
  if (typeof autoStartAgent !== "boolean") throw badRequest("autoStartAgent must be a boolean");
  if (!Array.isArray(gitConfig) || !gitConfig.every((pair) => isStringArray(pair) && pair.length === 2))
    throw badRequest("gitConfig must contain pairs of strings");
  if (egressToken !== undefined && (typeof egressToken !== "string" || /[\r\n]/.test(egressToken)))
    throw badRequest("egressToken must be a single line");
  if (sandboxId !== undefined && typeof sandboxId !== "string") throw badRequest("sandboxId must be a string");
  return {
    env: passable,
    agent: agent === null ? null : parseAgent(agent),
    fallbackAgents: fallbackAgents.map(parseAgent),
    autoStartAgent,
    languageServers: parseLanguageServers(languageServers),
    gitConfig: gitConfig as [string, string][],
    mcpServers: parseMcpServers(mcpServers),
    ...(sandboxId === undefined ? {} : { sandboxId }),
    ...(egressToken === undefined ? {} : { egressToken }),
  };
}

function parseMcpServers(value: unknown): McpServerAddress[] {
  if (!Array.isArray(value)) throw badRequest("mcpServers must be an array");
  return value.map((server: Partial<Record<"name" | "url" | "command" | "args", unknown>>) => {
    const { name, url, command, args = [] } = server;
    if (typeof name === "string" && typeof url === "string") return { name, url };
    if (typeof name === "string" && typeof command === "string" && isStringArray(args)) return { name, command, args };
    throw badRequest("mcpServers must have a name, and an address or a command");
  });
}

function parseLanguageServers(value: unknown): Record<string, LanguageServerProgram> {
  if (typeof value !== "object" || value === null) throw badRequest("languageServers must be an object");
  return Object.fromEntries(Object.entries(value).map(([language, server]) => [language, parseLanguageServer(server)]));
}

function parseLanguageServer(value: unknown): LanguageServerProgram {
  const { command, args = [], env = {}, initializationOptions, settings = {} } = (value ?? {}) as Record<string, unknown>;
  if (typeof command !== "string" || !isStringArray(args) || !isStringRecord(env) || typeof settings !== "object" || settings === null)
    throw badRequest("languageServers is malformed");
  return { command, args, env, initializationOptions, settings: settings as Record<string, unknown> };
}

function parseAgent(value: unknown): AgentProgram {
  if (typeof value !== "object" || value === null) throw badRequest("agent is malformed");
  const { command, args = [], env = {}, requiredEnv = [], askingModes, permissions = [] } = value as Record<string, unknown>;
  if (typeof command !== "string" || !isStringArray(args) || !isStringRecord(env) || !isStringArray(requiredEnv))
    throw badRequest("agent is malformed");
  // A restriction that is not understood must not be ignored.
  if ((askingModes !== undefined && !isStringArray(askingModes)) || !Array.isArray(permissions)) throw badRequest("agent is malformed");
  return {
    command,
    args,
    env,
    requiredEnv,
    permissions: permissions.map(parseRule),
    ...(askingModes === undefined ? {} : { askingModes }),
  };
}
