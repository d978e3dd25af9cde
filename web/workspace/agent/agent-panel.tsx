import "../styles/agent/conversation.css";
import "../styles/agent/questions.css";
import "../styles/agent/composer.css";
import { MessageSquarePlus, Sparkles, Trash2, X } from "lucide-react";
import { useEffect, useRef, type RefObject } from "react";
import { usePage, usePageState, useSession } from "../state/context.ts";
import { useAgent, useAgentState } from "../state/use-agent.ts";
import { IconButton } from "../parts/icon-button.tsx";
import { AgentStatus } from "./agent-status.tsx";
import { Composer } from "./composer/composer.tsx";
import { ConversationList } from "./conversation-list.tsx";
import { ConversationItems } from "./conversation/conversation-items.tsx";

// The panel of the coding agent. Loaded together with the Markdown renderer when it is first opened.
export default function AgentPanel() {
  const agent = useAgent();
  const { layout } = usePage();
  const { mayEdit } = useSession();
  useEffect(() => agent.connect(), [agent]);
  const panel = useFocusOnRequest();
  const { current, pendingPrompt, items, agent: state } = useAgentState((view) => view);
  const shown = current === null ? undefined : items[current];
  const usable = state !== null && ["ready", "stopped", "starting"].includes(state.status);
  return (
    <section ref={panel} className="agent side-panel" aria-label="Agent" tabIndex={-1}>
      <div className="panel-head">
        <h2 className="visually-hidden">Agent</h2>
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

// The field for a message takes a requested focus. It may not be there yet or at all, so the panel takes the focus until then. If the
// person goes elsewhere meanwhile, the focus stays there.
function useFocusOnRequest(): RefObject<HTMLElement | null> {
  const { focusRequest } = usePage();
  const requested = usePageState("focusRequest", (state) => state.target === "agent");
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!requested) return;
    if (!panel.current?.contains(document.activeElement)) panel.current?.focus();
    const onFocusIn = ({ target }: FocusEvent) => void (panel.current?.contains(target as Node) || focusRequest.clear());
    addEventListener("focusin", onFocusIn);
    return () => removeEventListener("focusin", onFocusIn);
  }, [requested, focusRequest]);
  return panel;
}

function EmptyConversation() {
  const { mayEdit } = useSession();
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
  const { dialogs } = usePage();
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
