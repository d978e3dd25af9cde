import { Plug } from "lucide-react";
import type { AgentMcpServer } from "@berth/contract/daemon.ts";
import { useAgentState } from "../../state/use-agent.ts";

// The MCP servers of the session. The agent connects to them by itself, so the list says only whether they answer.
export function McpList() {
  const servers = useAgentState((view) => view.agent?.mcpServers);
  if (!servers) return null;
  const failed = servers.filter(({ status }) => status === "failed").length;
  const count = servers.length === 1 ? "1 MCP server" : `${servers.length} MCP servers`;
  return (
    <details className="rules">
      <summary>
        <Plug size={13} />
        <span className="grow truncate">{failed === 0 ? count : `${count}, ${failed} not available`}</span>
      </summary>
      <ol aria-label="MCP servers">
        {servers.map((server) => (
          <li key={server.name}>
            <span className="server">{server.name}</span>
            <span className={`grow ${CLASSES[server.status]}`}>{server.message ?? WORDS[server.status]}</span>
          </li>
        ))}
      </ol>
    </details>
  );
}

const WORDS: Record<AgentMcpServer["status"], string> = { checking: "checking…", ready: "ready", failed: "not available" };
const CLASSES: Record<AgentMcpServer["status"], string> = { checking: "muted", ready: "allowed", failed: "denied" };
