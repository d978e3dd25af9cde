import { useAgent, useAgentState } from "../../state/use-agent.ts";

// Says that the message box holds an earlier message.
export function EditingNote({ onCancel }: { onCancel: () => void }) {
  const agent = useAgent();
  const editing = useAgentState((view) => view.editing);
  const hasCheckpoint = useAgentState(({ items, current }) =>
    (items[current ?? ""] ?? []).some((item) => item.id === editing?.itemId && item.kind === "user" && item.checkpoint?.id != null),
  );
  if (!editing) return null;
  return (
    <div className="editing">
      <span className="grow">Editing your last message</span>
      {hasCheckpoint && (
        <label>
          <input
            type="checkbox"
            checked={editing.restore}
            onChange={(event) => agent.setEditing({ ...editing, restore: event.target.checked })}
          />
          Restore the files first
        </label>
      )}
      <button type="button" className="button small" onClick={onCancel}>
        Cancel
      </button>
    </div>
  );
}
