import { ChevronDown } from "lucide-react";
import { useRef, useState } from "react";
import { useAgent, useAgentState } from "../state/use-agent.ts";
import { Menu } from "../parts/menu.tsx";

export function ConversationList() {
  const agent = useAgent();
  const all = useAgentState((view) => view.conversations);
  const prepared = useAgentState((view) => view.prepared);
  const conversations = all.filter(({ id }) => id !== prepared);
  const current = useAgentState((view) => view.current);
  const button = useRef<HTMLButtonElement>(null);
  const [menuAt, setMenuAt] = useState<{ x: number; y: number } | null>(null);
  const title = conversations.find(({ id }) => id === current)?.title ?? "New conversation";
  const openMenu = () => {
    const box = button.current?.getBoundingClientRect();
    if (box) setMenuAt({ x: box.left, y: box.bottom + 2 });
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        className="conversation-title grow"
        aria-haspopup="menu"
        aria-expanded={menuAt !== null}
        disabled={conversations.length === 0}
        onClick={openMenu}
      >
        <span className="truncate">{title}</span>
        {conversations.length > 0 && <ChevronDown size={14} />}
      </button>
      {menuAt && (
        <Menu
          label="Conversations"
          at={menuAt}
          onClose={() => setMenuAt(null)}
          items={conversations.slice(0, 30).map((conversation) => ({
            label: conversation.busy ? `${conversation.title} …` : conversation.title,
            run: () => agent.show(conversation.id),
          }))}
        />
      )}
    </>
  );
}
