import { ChevronDown, Download, Pencil } from "lucide-react";
import { useRef, useState } from "react";
import { useSession } from "../state/context.ts";
import { useAgent, useAgentState } from "../state/use-agent.ts";
import { Menu } from "../parts/menu.tsx";
import { exportConversation } from "./conversation/export-conversation.ts";

export function ConversationList() {
  const agent = useAgent();
  const all = useAgentState((view) => view.conversations);
  const prepared = useAgentState((view) => view.prepared);
  const conversations = all.filter(({ id }) => id !== prepared);
  const current = useAgentState((view) => view.current);
  const sessions = useAgentState((view) => view.sessions);
  const agentName = useAgentState((view) => view.agent?.name) ?? "the agent";
  const button = useRef<HTMLButtonElement>(null);
  const [menuAt, setMenuAt] = useState<{ x: number; y: number } | null>(null);
  const [renaming, setRenaming] = useState(false);
  const { mayEdit } = useSession();
  const items = useAgentState((view) => (view.current === null ? undefined : view.items[view.current]));
  const shown = conversations.find(({ id }) => id === current);
  const isEmpty = conversations.length === 0 && sessions.length === 0;
  const title = shown?.title ?? "New conversation";
  const openMenu = () => {
    const box = button.current?.getBoundingClientRect();
    if (box) setMenuAt({ x: box.left, y: box.bottom + 2 });
    agent.findSessions();
  };
  if (renaming && shown)
    return (
      <TitleField
        title={shown.title}
        onDone={(name) => {
          setRenaming(false);
          if (name !== null) agent.rename(shown.id, name);
        }}
      />
    );
  return (
    <>
      <button
        ref={button}
        type="button"
        className="conversation-title grow"
        aria-haspopup="menu"
        aria-expanded={menuAt !== null}
        disabled={isEmpty}
        onClick={openMenu}
      >
        <span className="truncate">{title}</span>
        {!isEmpty && <ChevronDown size={14} />}
      </button>
      {menuAt && (
        <Menu
          label="Conversations"
          at={menuAt}
          onClose={() => setMenuAt(null)}
          items={[
            ...(shown && mayEdit ? [{ label: "Rename", icon: <Pencil size={14} />, run: () => setRenaming(true) }] : []),
            ...(shown && items
              ? [{ label: "Export as Markdown", icon: <Download size={14} />, run: () => exportConversation(shown, items) }]
              : []),
            ...conversations.slice(0, 30).map((conversation, index) => ({
              id: conversation.id,
              label: conversation.busy ? `${conversation.title} …` : conversation.title,
              current: conversation.id === current,
              divided: index === 0 && shown !== undefined,
              run: () => agent.show(conversation.id),
            })),
            ...sessions.slice(0, 20).map(({ sessionId, title: name }, index) => ({
              id: sessionId,
              label: name,
              divided: index === 0 && conversations.length > 0,
              group: `Started elsewhere with ${agentName}`,
              run: () => agent.adopt(sessionId),
            })),
          ]}
        />
      )}
    </>
  );
}

// Enter and leaving the field keep the new title, Escape does not.
function TitleField({ title, onDone }: { title: string; onDone: (title: string | null) => void }) {
  const [text, setText] = useState(title);
  const isDone = useRef(false);
  const finish = (name: string) => {
    if (isDone.current) return;
    isDone.current = true;
    onDone(name.trim() === "" || name === title ? null : name.trim());
  };
  return (
    <input
      className="field grow"
      aria-label="Title of the conversation"
      autoFocus
      maxLength={200}
      value={text}
      onChange={({ currentTarget }) => setText(currentTarget.value)}
      onFocus={({ currentTarget }) => currentTarget.select()}
      onBlur={() => finish(text)}
      onKeyDown={({ key }) => {
        if (key === "Enter") finish(text);
        if (key === "Escape") finish(title);
      }}
    />
  );
}
