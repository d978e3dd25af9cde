import { ArrowDown, Brain, CircleAlert, History as HistoryIcon, Hourglass, Info, ListTodo, TriangleAlert } from "lucide-react";
import { useCallback, useEffect, useRef, useState, type ReactNode, type RefObject, type UIEvent } from "react";
import type { ConversationItem } from "@berth/contract/agent.ts";
import { useSession } from "../../state/context.ts";
import { useAgent, useAgentState } from "../../state/use-agent.ts";
import { Markdown } from "../../parts/markdown.tsx";
import { changesLast } from "./changes-last.ts";
import { ChangesCard } from "./changes-card.tsx";
import { CopyButton } from "./copy-button.tsx";
import { describeModelWait } from "./model-wait.ts";
import { Plan } from "./plan.tsx";
import { FormQuestion } from "./questions/form-question.tsx";
import { PermissionRequest } from "./questions/permission-request.tsx";
import { UrlQuestion } from "./questions/url-question.tsx";
import { SaidMessage } from "./said-message.tsx";
import { ToolCard } from "./tool-card.tsx";

// A conversation. It scrolls with new items unless the person has scrolled up.
export function ConversationItems({ conversationId, items }: { conversationId: string; items: ConversationItem[] }) {
  const list = useRef<HTMLDivElement>(null);
  const { atEnd, onScroll, scrollToEnd } = useEndOf(list, items.findLast(({ kind }) => kind === "user" || kind === "restore")?.id);
  const busy = useAgentState(({ conversations }) => conversations.find(({ id }) => id === conversationId)?.busy ?? false);
  const modelWait = useAgentState(({ conversations }) => conversations.find(({ id }) => id === conversationId)?.modelWait ?? null);
  const lastSaid = items.findLast(({ kind }) => kind === "user")?.id;
  return (
    <div className="items-frame">
      <div ref={list} className="log" role="log" aria-label="Conversation" aria-busy={busy} tabIndex={0} onScroll={onScroll}>
        <div className="items">
          {changesLast(items).map((item) => (
            <Item key={item.id} conversationId={conversationId} item={item} isLastSaid={item.id === lastSaid} busy={busy} />
          ))}
          {busy && <div className="working" role="status" aria-label="The agent is working" />}
          {modelWait && (
            <p className="agent-notice wait" role="status">
              <Hourglass size={14} />
              {describeModelWait(modelWait)}
            </p>
          )}
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

// Follows the end of a list until the person scrolls up. The last thing that the person did is always shown.
function useEndOf(list: RefObject<HTMLDivElement | null>, lastDone: string | undefined) {
  const [atEnd, setAtEnd] = useState(true);
  // Beside the state, because a list that grows in the same frame must not undo the person's scrolling.
  const follows = useRef(true);
  const lastTop = useRef(0);
  const follow = (wanted: boolean) => {
    follows.current = wanted;
    setAtEnd(wanted);
  };
  const scrollToEnd = useCallback(() => {
    if (!list.current) return;
    list.current.scrollTop = list.current.scrollHeight;
    lastTop.current = list.current.scrollTop;
  }, [list]);
  // Text is rendered a moment after it arrives, and the message box below grows, so the sizes decide and not the items.
  useEffect(() => {
    const [frame, content] = [list.current, list.current?.firstElementChild];
    if (!frame || !content) return;
    const observer = new ResizeObserver(() => follows.current && scrollToEnd());
    observer.observe(frame);
    observer.observe(content);
    return () => observer.disconnect();
  }, [list, scrollToEnd]);
  useEffect(() => {
    follow(true);
    scrollToEnd();
  }, [lastDone, scrollToEnd]);
  return {
    atEnd,
    scrollToEnd,
    onScroll({ currentTarget: { scrollHeight, scrollTop, clientHeight } }: UIEvent<HTMLElement>) {
      if (scrollHeight - scrollTop - clientHeight < 40) follow(true);
      // New items also increase the distance to the end, but only a person scrolls up.
      else if (scrollTop < lastTop.current) follow(false);
      lastTop.current = scrollTop;
    },
  };
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
      return <ToolCard tool={item} />;
    case "changes":
      return <ChangesCard conversationId={conversationId} item={item} />;
    case "plan":
      return <Plan entries={item.entries} icon={<ListTodo size={14} />} />;
    case "permission":
      return <PermissionRequest conversationId={conversationId} item={item} />;
    case "form":
      return <FormQuestion conversationId={conversationId} item={item} />;
    case "url":
      return <UrlQuestion conversationId={conversationId} item={item} />;
    case "notice":
      return <AgentNotice item={item} />;
    case "restore":
      return <RestoredFiles conversationId={conversationId} item={item} busy={busy} />;
  }
}

function AgentNotice({ item: { level, text, detail } }: { item: Extract<ConversationItem, { kind: "notice" }> }) {
  const Icon = level === "error" ? CircleAlert : level === "warning" ? TriangleAlert : Info;
  return (
    <div className={`agent-notice ${level}`} role={level === "error" ? "alert" : undefined}>
      <Icon size={14} />
      {detail === undefined ? (
        <span>{text}</span>
      ) : (
        <details className="grow">
          <summary>{text}</summary>
          <Markdown text={detail} />
        </details>
      )}
    </div>
  );
}

interface RestoredFilesProps {
  conversationId: string;
  item: Extract<ConversationItem, { kind: "restore" }>;
  busy: boolean;
}

function RestoredFiles({ conversationId, item: { id, text, checkpoint }, busy }: RestoredFilesProps) {
  const agent = useAgent();
  const { mayEdit } = useSession();
  return (
    <div className="agent-notice">
      <HistoryIcon size={14} />
      <span className="grow">{text}</span>
      {checkpoint.id !== null && mayEdit && (
        <button type="button" className="button small" disabled={busy} onClick={() => agent.restore(conversationId, id)}>
          Undo
        </button>
      )}
    </div>
  );
}
