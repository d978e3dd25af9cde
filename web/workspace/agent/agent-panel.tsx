import { MessageSquarePlus, Sparkles, Trash2, X } from "lucide-react";
import { useEffect } from "react";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { IconButton } from "../parts/icon-button.tsx";
import { AgentStatus } from "./agent-status.tsx";
import { Composer } from "./composer.tsx";
import { ConversationList } from "./conversation-list.tsx";
import { Items } from "./conversation/conversation-items.tsx";

// The conversation with the coding agent. Loaded, with its Markdown, when the panel is first opened.
export default function AgentPanel() {
  const { agent, layout } = useWorkspace();
  useEffect(() => agent.connect(), [agent]);
  const { current, asking, items, agent: state } = useWorkspaceState("agent", (view) => view);
  const shown = current === null ? undefined : items[current];
  const usable = state !== null && ["ready", "stopped", "starting"].includes(state.status);
  return (
    <section className="agent side-panel" aria-label="Agent">
      <div className="panel-head">
        <h2 className="hidden-visually">Agent</h2>
        <ConversationList />
        <IconButton label="New conversation" onClick={() => agent.show(null)}>
          <MessageSquarePlus size={15} />
        </IconButton>
        <DeleteConversation />
        <IconButton label="Hide the agent" onClick={() => layout.toggle("agentOpen")}>
          <X size={15} />
        </IconButton>
      </div>
      {shown && shown.length > 0 && current !== null ? (
        <Items conversationId={current} items={shown} />
      ) : asking && current === null ? (
        <div className="items">
          <div className="said">{asking.text}</div>
          <div className="spinner" />
        </div>
      ) : (
        <div className="panel-body">{usable && current === null ? <Greeting /> : usable ? null : <AgentStatus />}</div>
      )}
      {shown && shown.length > 0 && !usable && <AgentStatus />}
      {(usable || state?.status === "failed") && <Composer disabled={!usable} />}
    </section>
  );
}

function Greeting() {
  const name = useWorkspaceState("agent", (view) => view.agent?.name);
  return (
    <div className="empty">
      <Sparkles size={28} strokeWidth={1.4} />
      <h2>What shall we work on?</h2>
      <p>
        {name ? `${name} can` : "The agent can"} read and change the files of this workspace and run commands in it. You see every step
        here.
      </p>
    </div>
  );
}

function DeleteConversation() {
  const { agent, dialogs } = useWorkspace();
  const current = useWorkspaceState("agent", (view) => view.current);
  const remove = async () => {
    if (current === null) return;
    const sure = await dialogs.confirm(
      "Delete this conversation?",
      "What was said is deleted. Files that were changed stay as they are.",
      "Delete",
    );
    if (sure) agent.remove(current);
  };
  return (
    <IconButton label="Delete this conversation" disabled={current === null} onClick={() => void remove()}>
      <Trash2 size={14} />
    </IconButton>
  );
}
