import { CircleAlert, Files, GitCompare, Radio, Search, Settings } from "lucide-react";
import { openPage } from "../state/actions/open-actions.ts";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import type { SideView } from "../state/page/layout.ts";

const views = [
  { view: "files", label: "Files", icon: Files },
  { view: "search", label: "Search", icon: Search },
  { view: "changes", label: "Changes", icon: GitCompare },
  { view: "problems", label: "Problems", icon: CircleAlert },
  { view: "ports", label: "Ports", icon: Radio },
] as const satisfies { view: SideView; label: string; icon: typeof Files }[];

export function ActivityBar() {
  const workspace = useWorkspace();
  const { layout } = workspace;
  const { sideView, sideOpen } = useWorkspaceState("layout", (state) => state);
  const portCount = useWorkspaceState("ports", (state) => state.list.length);
  return (
    <nav className="activity-bar" aria-label="Views">
      {views.map(({ view, label, icon: Icon }) => {
        const badge = view === "ports" && portCount > 0 ? portCount : null;
        return (
          <button
            key={view}
            type="button"
            aria-pressed={sideOpen && sideView === view}
            // The accessible name must contain the visible text.
            aria-label={badge === null ? label : `${label}, ${badge} open`}
            title={label}
            onClick={() => layout.toggleSideView(view)}
          >
            <Icon size={19} strokeWidth={1.8} />
            {badge !== null && <span className="badge">{badge}</span>}
          </button>
        );
      })}
      <button type="button" className="last" aria-label="Settings" title="Settings" onClick={() => openPage(workspace, "settings")}>
        <Settings size={19} strokeWidth={1.8} />
      </button>
    </nav>
  );
}
