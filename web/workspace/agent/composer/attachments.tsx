import { FileCode, Plus, X } from "lucide-react";
import type { ContextPart } from "@berth/contract/agent.ts";
import { usePage, usePageState } from "../../state/context.ts";
import { useAgent, useAgentState } from "../../state/use-agent.ts";
import { nameContext } from "../../text/context-name.ts";

// The attachments of a message: files, selected lines and images. The active file or its selection is offered.
export function Attachments() {
  const agent = useAgent();
  const context = useAgentState((view) => view.context);
  const images = useAgentState((view) => view.images);
  const offered = useOfferedContext(context);
  if (context.length === 0 && images.length === 0 && !offered) return null;
  return (
    <div className="context-row attachments">
      {context.map((part) => (
        <span key={nameContext(part)} className="context-chip" title={part.path}>
          <FileCode size={12} /> {nameContext(part)}
          <button type="button" aria-label={`Remove ${nameContext(part)}`} onClick={() => agent.detach(part)}>
            <X size={12} />
          </button>
        </span>
      ))}
      {images.map((id) => (
        <span key={id} className="context-chip picture">
          <img src={agent.imageUrl(id)} alt="Attached" />
          <button type="button" aria-label="Remove image" onClick={() => agent.detachImage(id)}>
            <X size={12} />
          </button>
        </span>
      ))}
      {offered && (
        <button
          type="button"
          className="context-chip offered"
          title={`Add ${offered.path} to the message`}
          onClick={() => agent.attach(offered)}
        >
          <Plus size={12} /> {nameContext(offered)}
        </button>
      )}
    </div>
  );
}

// The selection of the active editor, or its file, unless it is attached.
function useOfferedContext(attached: ContextPart[]): ContextPart | null {
  const { activeEditor } = usePage();
  // It changes with every selection.
  usePageState("cursor", ({ position }) => position);
  const editor = activeEditor.current();
  if (editor === null) return null;
  const selection = editor.selection();
  const part = { path: editor.path, ...(selection ? { selection } : {}) };
  return attached.some((each) => nameContext(each) === nameContext(part) && each.path === part.path) ? null : part;
}
