import { CircleAlert, Info, TriangleAlert, X } from "lucide-react";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import type { Notice } from "../state/page/notices.ts";
import { IconButton } from "../parts/icon-button.tsx";
import { lazyPart } from "../browser/lazy-part.ts";

const TransferList = lazyPart(() => import("./transfer-list.tsx"));

export function NoticeList() {
  const { notices } = useWorkspace();
  const list = useWorkspaceState("notices", (state) => state.notices);
  const isTransferring = useWorkspaceState("transfers", (state) => state.list.length > 0);
  return (
    <div className="notices" role="region" aria-label="Notices" aria-live="polite">
      {isTransferring && <TransferList />}
      {list.map(({ id, kind, text, action }) => (
        <div key={id} className={`notice ${kind}`}>
          <Icon kind={kind} />
          <p>{text}</p>
          {action && (
            <button
              type="button"
              className="button small"
              onClick={() => {
                notices.dismiss(id);
                action.run();
              }}
            >
              {action.label}
            </button>
          )}
          <IconButton label="Dismiss" onClick={() => notices.dismiss(id)}>
            <X size={14} />
          </IconButton>
        </div>
      ))}
    </div>
  );
}

const icons = { info: Info, warning: TriangleAlert, error: CircleAlert };

function Icon({ kind }: { kind: Notice["kind"] }) {
  const Shape = icons[kind];
  return <Shape size={16} />;
}
