import { CircleAlert, Info, X } from "lucide-react";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { IconButton } from "../parts/icon-button.tsx";

export function NoticeList() {
  const { notices } = useWorkspace();
  const list = useWorkspaceState("notices", (state) => state.notices);
  return (
    <div className="notices" role="region" aria-label="Notices" aria-live="polite">
      {list.map(({ id, kind, text }) => (
        <div key={id} className={`notice ${kind}`}>
          {kind === "error" ? <CircleAlert size={16} /> : <Info size={16} />}
          <p>{text}</p>
          <IconButton label="Dismiss" onClick={() => notices.dismiss(id)}>
            <X size={14} />
          </IconButton>
        </div>
      ))}
    </div>
  );
}
