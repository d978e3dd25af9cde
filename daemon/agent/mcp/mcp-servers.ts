import type { InitializeResponse, McpServer } from "@agentclientprotocol/sdk";
import type { AgentMcpServer } from "@berth/contract/daemon.ts";
import type { McpServerAddress } from "@berth/contract/daemon-internal.ts";
import type { Environment } from "../../programs/environment.ts";
import { chooseAgent, agentEnvironment, isInstalled } from "../program/availability.ts";
import { probe } from "./probe.ts";

// The MCP servers of the session, which the agent connects to by itself. Agents do not report how that went, so the daemon finds out
// whether each of them answers.
export interface McpServers {
  // Those that the agent can use, for a session of the agent.
  forAgent(about: InitializeResponse): McpServer[];
  // For people; absent if there are none.
  readonly state: AgentMcpServer[] | undefined;
  // Asks all of them, and calls `onChange` when the state has changed.
  check(about: InitializeResponse): Promise<void>;
}

export function createMcpServers(environment: Environment, onChange: () => void): McpServers {
  let known: AgentMcpServer[] = [];
  // Answers of an earlier check are ignored.
  let checks = 0;

  async function checkOne(server: McpServerAddress, about: InitializeResponse): Promise<AgentMcpServer> {
    const { name } = server;
    if ("url" in server && !speaksHttp(about)) return { name, status: "failed", message: "This agent cannot use servers with an address." };
    if ("url" in server) return { name, ...(await probe(server.url)) };
    const agent = chooseAgent(environment);
    const path = agent ? (agentEnvironment(environment, agent).PATH ?? "") : "";
    if (isInstalled(server.command, path)) return { name, status: "ready" };
    return { name, status: "failed", message: `${server.command.slice(0, 200)} is not installed in this sandbox.` };
  }

  return {
    forAgent: (about) => environment.mcpServers().flatMap((server) => toAcp(server, about)),
    get state() {
      return known.length > 0 ? known : undefined;
    },
    async check(about) {
      const check = ++checks;
      const servers = environment.mcpServers();
      if (servers.length === 0 && known.length === 0) return;
      known = servers.map(({ name }) => ({ name, status: "checking" }));
      onChange();
      const found = await Promise.all(servers.map((server) => checkOne(server, about)));
      if (check !== checks) return;
      known = found;
      onChange();
    },
  };
}

const speaksHttp = ({ agentCapabilities }: InitializeResponse): boolean => agentCapabilities?.mcpCapabilities?.http === true;

function toAcp(server: McpServerAddress, about: InitializeResponse): McpServer[] {
  if (!("url" in server)) return [{ name: server.name, command: server.command, args: server.args, env: [] }];
  return speaksHttp(about) ? [{ type: "http", name: server.name, url: server.url, headers: [] }] : [];
}
