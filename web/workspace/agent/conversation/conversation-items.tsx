import { Brain, CircleAlert, Info, ListTodo } from "lucide-react";
import { useEffect, useRef, type ReactNode } from "react";
import type { ConversationItem } from "@berth/contract/agent.ts";
import { useWorkspaceState } from "../../state/context.ts";
import { Markdown } from "../../parts/markdown.tsx";
import { PermissionRequest } from "./permission-request.tsx";
import { Plan } from "./plan.tsx";
import { ToolCard } from "./tool-card.tsx";

// A conversation. It scrolls with new items unless the person has scrolled up.
export function ConversationItems({ conversationId, items }: { conversationId: string; items: ConversationItem[] }) {
  const list = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const busy = useWorkspaceState("agent", ({ conversations }) => conversations.find(({ id }) => id === conversationId)?.busy ?? false);
  useEffect(() => {
    if (list.current && atEnd.current) list.current.scrollTop = list.current.scrollHeight;
  }, [items]);
  return (
    <div
      ref={list}
      className="items"
      role="log"
      aria-label="Conversation"
      aria-busy={busy}
      tabIndex={0}
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) =>
        (atEnd.current = scrollHeight - scrollTop - clientHeight < 40)
      }
    >
      {items.map((item) => (
        <Item key={item.id} conversationId={conversationId} item={item} />
      ))}
      {busy && <div className="working" role="status" aria-label="The agent is working" />}
    </div>
  );
}

function Item({ conversationId, item }: { conversationId: string; item: ConversationItem }): ReactNode {
  switch (item.kind) {
    case "user":
      return <div className="said">{item.text}</div>;
    case "assistant":
      return <Markdown text={item.text} />;
    case "thought":
      return (
        <details className="thought">
          <summary>
            <Brain size={13} /> Thinking
          </summary>
          <Markdown text={item.text} />
        </details>
      );
    case "tool":
      return <ToolCard tool={item} />;
    case "plan":
      return <Plan entries={item.entries} icon={<ListTodo size={14} />} />;
    case "permission":
      return <PermissionRequest conversationId={conversationId} item={item} />;
    case "notice":
      return (
        <p className={`agent-notice ${item.level}`}>
          {item.level === "error" ? <CircleAlert size={14} /> : <Info size={14} />}
          {item.text}
        </p>
      );
  }
}
