import "../styles/agent/conversation.css";
import "../styles/agent/composer.css";
import { MessageSquarePlus, Sparkles, Trash2, X } from "lucide-react";
import { useEffect } from "react";
import { useWorkspace } from "../state/context.ts";
import { useAgent, useAgentState } from "../state/use-agent.ts";
import { IconButton } from "../parts/icon-button.tsx";
import { AgentStatus } from "./agent-status.tsx";
import { Composer } from "./composer/composer.tsx";
import { ConversationList } from "./conversation-list.tsx";
import { ConversationItems } from "./conversation/conversation-items.tsx";

// The panel of the coding agent. Loaded together with the Markdown renderer when it is first opened.
export default function AgentPanel() {
  const agent = useAgent();
  const { mayEdit, layout } = useWorkspace();
  useEffect(() => agent.connect(), [agent]);
  const { current, pendingPrompt, items, agent: state } = useAgentState((view) => view);
  const shown = current === null ? undefined : items[current];
  const usable = state !== null && ["ready", "stopped", "starting"].includes(state.status);
  return (
    <section className="agent side-panel" aria-label="Agent">
      <div className="panel-head">
        <h2 className="hidden-visually">Agent</h2>
        <ConversationList />
        {mayEdit && (
          <>
            <IconButton label="New conversation" onClick={() => agent.show(null)}>
              <MessageSquarePlus size={15} />
            </IconButton>
            <DeleteConversation />
          </>
        )}
        <IconButton label="Hide agent" onClick={() => layout.toggle("agentOpen")}>
          <X size={15} />
        </IconButton>
      </div>
      {shown && shown.length > 0 && current !== null ? (
        <ConversationItems conversationId={current} items={shown} />
      ) : pendingPrompt && current === null ? (
        <div className="log">
          <div className="items">
            <div className="said-message">
              <div className="said">{pendingPrompt.prompt.text}</div>
            </div>
            <div className="spinner" />
          </div>
        </div>
      ) : (
        <div className="panel-body">{usable && (current === null || shown) ? <EmptyConversation /> : usable ? null : <AgentStatus />}</div>
      )}
      {shown && shown.length > 0 && !usable && <AgentStatus />}
      {!mayEdit && <p className="tree-note">Your link is for viewing only. You can read the conversations, but not send messages.</p>}
      {mayEdit && (usable || state?.status === "failed") && <Composer disabled={!usable} />}
    </section>
  );
}

function EmptyConversation() {
  const { mayEdit } = useWorkspace();
  const agentName = useAgentState((view) => view.agent?.name);
  return (
    <div className="empty">
      <Sparkles size={28} strokeWidth={1.4} />
      <h2>{mayEdit ? "What should we work on?" : "No conversations yet"}</h2>
      {mayEdit && <p>{agentName ?? "The agent"} can read and change files in this workspace and run commands. You see every step here.</p>}
    </div>
  );
}

function DeleteConversation() {
  const agent = useAgent();
  const { dialogs } = useWorkspace();
  const current = useAgentState((view) => (view.current === view.prepared ? null : view.current));
  const remove = async () => {
    if (current === null) return;
    const confirmed = await dialogs.confirm("Delete this conversation?", "This deletes the messages. Changes to files stay.", "Delete");
    if (confirmed) agent.remove(current);
  };
  return (
    <IconButton label="Delete conversation" disabled={current === null} onClick={() => void remove()}>
      <Trash2 size={14} />
    </IconButton>
  );
}
