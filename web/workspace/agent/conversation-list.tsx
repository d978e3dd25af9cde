import { ChevronDown } from "lucide-react";
import { useRef, useState } from "react";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { Menu } from "../parts/menu.tsx";

export function ConversationList() {
  const { agent } = useWorkspace();
  const conversations = useWorkspaceState("agent", (view) => view.conversations);
  const current = useWorkspaceState("agent", (view) => view.current);
  const button = useRef<HTMLButtonElement>(null);
  const [at, setAt] = useState<{ x: number; y: number } | null>(null);
  const title = conversations.find(({ id }) => id === current)?.title ?? "New conversation";
  const open = () => {
    const box = button.current?.getBoundingClientRect();
    if (box) setAt({ x: box.left, y: box.bottom + 2 });
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        className="conversation-title grow"
        aria-haspopup="menu"
        aria-expanded={at !== null}
        disabled={conversations.length === 0}
        onClick={open}
      >
        <span className="truncate">{title}</span>
        {conversations.length > 0 && <ChevronDown size={14} />}
      </button>
      {at && (
        <Menu
          label="Conversations"
          at={at}
          onClose={() => setAt(null)}
          items={conversations
            .slice(0, 30)
            .map(({ id, title: name, busy }) => ({ label: busy ? `${name} …` : name, run: () => agent.show(id) }))}
        />
      )}
    </>
  );
}
