import { ArrowDown, Brain, CircleAlert, History as HistoryIcon, Info, ListTodo } from "lucide-react";
import { useEffect, useRef, useState, type ReactNode } from "react";
import type { ConversationItem } from "@berth/contract/agent.ts";
import { useAgent, useAgentState } from "../../state/use-agent.ts";
import { Markdown } from "../../parts/markdown.tsx";
import { CopyButton } from "./copy-button.tsx";
import { PermissionRequest } from "./permission-request.tsx";
import { Plan } from "./plan.tsx";
import { SaidMessage } from "./said-message.tsx";
import { ToolCard } from "./tool-card.tsx";

// A conversation. It scrolls with new items unless the person has scrolled up.
export function ConversationItems({ conversationId, items }: { conversationId: string; items: ConversationItem[] }) {
  const list = useRef<HTMLDivElement>(null);
  const [atEnd, setAtEnd] = useState(true);
  const busy = useAgentState(({ conversations }) => conversations.find(({ id }) => id === conversationId)?.busy ?? false);
  const lastSaid = items.findLast(({ kind }) => kind === "user")?.id;
  const scrollToEnd = () => {
    if (list.current) list.current.scrollTop = list.current.scrollHeight;
  };
  // Text is rendered a moment after it arrives, and the message box below grows, so the sizes decide and not the items.
  useEffect(() => {
    const [frame, content] = [list.current, list.current?.firstElementChild];
    if (!atEnd || !frame || !content) return;
    const observer = new ResizeObserver(scrollToEnd);
    observer.observe(frame);
    observer.observe(content);
    return () => observer.disconnect();
  }, [atEnd]);
  // The last thing that a person did is always shown.
  const lastDone = items.findLast(({ kind }) => kind === "user" || kind === "restore")?.id;
  useEffect(() => setAtEnd(true), [lastDone]);
  return (
    <div className="items-frame">
      <div
        ref={list}
        className="log"
        role="log"
        aria-label="Conversation"
        aria-busy={busy}
        tabIndex={0}
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => setAtEnd(scrollHeight - scrollTop - clientHeight < 40)}
      >
        <div className="items">
          {items.map((item) => (
            <Item key={item.id} conversationId={conversationId} item={item} isLastSaid={item.id === lastSaid} busy={busy} />
          ))}
          {busy && <div className="working" role="status" aria-label="The agent is working" />}
        </div>
      </div>
      {!atEnd && (
        <button type="button" className="button small to-latest" onClick={scrollToEnd}>
          <ArrowDown size={13} /> Jump to latest
        </button>
      )}
    </div>
  );
}

interface ItemProps {
  conversationId: string;
  item: ConversationItem;
  isLastSaid: boolean;
  busy: boolean;
}

function Item({ conversationId, item, isLastSaid, busy }: ItemProps): ReactNode {
  switch (item.kind) {
    case "user":
      return <SaidMessage conversationId={conversationId} item={item} isLast={isLastSaid} busy={busy} />;
    case "assistant":
      return (
        <div className="answer">
          <Markdown text={item.text} />
          <div className="message-actions">
            <CopyButton text={item.text} />
          </div>
        </div>
      );
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
      return <ToolCard conversationId={conversationId} tool={item} />;
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
    case "restore":
      return <RestoredFiles conversationId={conversationId} item={item} busy={busy} />;
  }
}

interface RestoredFilesProps {
  conversationId: string;
  item: Extract<ConversationItem, { kind: "restore" }>;
  busy: boolean;
}

function RestoredFiles({ conversationId, item: { id, text, checkpoint }, busy }: RestoredFilesProps) {
  const agent = useAgent();
  return (
    <div className="agent-notice">
      <HistoryIcon size={14} />
      <span className="grow">{text}</span>
      {checkpoint.id !== null && (
        <button type="button" className="button small" disabled={busy} onClick={() => agent.restore(conversationId, id)}>
          Undo
        </button>
      )}
    </div>
  );
}
