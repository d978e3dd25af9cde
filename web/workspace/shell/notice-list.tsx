import { CircleAlert, Info, TriangleAlert, X } from "lucide-react";
import { useEffect, useState, type CSSProperties } from "react";
import { usePage, usePageState } from "../state/context.ts";
import type { Notice } from "../state/page/notices.ts";
import { IconButton } from "../parts/icon-button.tsx";
import { lazyPart } from "../browser/lazy-part.ts";

const TransferList = lazyPart(() => import("./transfer-list.tsx"));

export function NoticeList() {
  const { notices } = usePage();
  const bottomPx = useTerminalsHeight();
  const list = usePageState("notices", (state) => state.notices);
  const isTransferring = usePageState("transfers", (state) => state.list.length > 0);
  return (
    <div className="notices" role="region" aria-label="Notices" aria-live="polite" style={{ "--above": `${bottomPx}px` } as CSSProperties}>
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

// Notices appear above the terminals, so that they cover neither their buttons nor a prompt.
function useTerminalsHeight(): number {
  const shown = usePageState("layout", ({ terminalsOpen, sideOpen, agentOpen }) => `${terminalsOpen} ${sideOpen} ${agentOpen}`);
  const [heightPx, setHeightPx] = useState(0);
  useEffect(() => {
    const panel = document.querySelector(".terminal-panel");
    if (!panel) return setHeightPx(0);
    const observer = new ResizeObserver(() => setHeightPx(innerHeight - panel.getBoundingClientRect().top));
    observer.observe(panel);
    return () => observer.disconnect();
  }, [shown]);
  return heightPx;
}

const icons = { info: Info, warning: TriangleAlert, error: CircleAlert };

function Icon({ kind }: { kind: Notice["kind"] }) {
  const Shape = icons[kind];
  return <Shape size={16} />;
}
