import { FileCode, History as HistoryIcon, Pencil, RotateCcw } from "lucide-react";
import type { ConversationItem } from "@berth/contract/agent.ts";
import { IconButton } from "../../parts/icon-button.tsx";
import { useSession } from "../../state/context.ts";
import { useActions } from "../../actions/actions.ts";
import { useAgent } from "../../state/use-agent.ts";
import { nameContext } from "../../text/context-name.ts";
import { CopyButton } from "./copy-button.tsx";

export interface SaidMessageProps {
  conversationId: string;
  item: Extract<ConversationItem, { kind: "user" }>;
  isLast: boolean;
  busy: boolean;
}

// A message of a person. The files can return to their state before it at once, because the conversation then offers an undo.
export function SaidMessage({ conversationId, item, isLast, busy }: SaidMessageProps) {
  const { mayEdit } = useSession();
  const { openFile } = useActions();
  const agent = useAgent();
  const { text, context = [], images = [], checkpoint } = item;
  const hasCheckpoint = checkpoint != null && checkpoint.id !== null;

  return (
    <div className="said-message">
      <div className="said">
        {images.length > 0 && (
          <div className="thumbnails">
            {images.map((id) => (
              <img key={id} src={agent.imageUrl(id)} alt="Attached" />
            ))}
          </div>
        )}
        {text}
        {context.length > 0 && (
          <div className="context-row">
            {context.map((part) => (
              <button
                key={nameContext(part)}
                type="button"
                className="context-chip"
                title={part.path}
                onClick={() => openFile(part.path, part.selection ? { line: part.selection.fromLine, column: 1 } : undefined)}
              >
                <FileCode size={12} /> {nameContext(part)}
              </button>
            ))}
          </div>
        )}
      </div>
      <div className="message-actions">
        {isLast && !busy && mayEdit && (
          <>
            <IconButton label="Edit message" onClick={() => agent.edit(item.id, { text, context, images }, { restore: hasCheckpoint })}>
              <Pencil size={13} />
            </IconButton>
            <IconButton label="Retry" onClick={() => agent.retry({ text, context, images })}>
              <RotateCcw size={13} />
            </IconButton>
          </>
        )}
        {hasCheckpoint && mayEdit && (
          <IconButton label="Restore files to before this message" disabled={busy} onClick={() => agent.restore(conversationId, item.id)}>
            <HistoryIcon size={13} />
          </IconButton>
        )}
        <CopyButton text={text} />
      </div>
      {checkpoint != null && checkpoint.id === null && <p className="agent-notice">{checkpoint.note}</p>}
    </div>
  );
}
