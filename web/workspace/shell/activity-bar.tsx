import { Activity, CircleAlert, Files, GitCompare, Radio, Search, Settings } from "lucide-react";
import { usePage, usePageState, useSandboxState } from "../state/context.ts";
import { useActions } from "../actions/actions.ts";
import type { SideView } from "../state/page/layout.ts";

const views = [
  { view: "files", label: "Files", icon: Files },
  { view: "search", label: "Search", icon: Search },
  { view: "changes", label: "Changes", icon: GitCompare },
  { view: "problems", label: "Problems", icon: CircleAlert },
  { view: "ports", label: "Ports", icon: Radio },
  { view: "programs", label: "Programs", icon: Activity },
] as const satisfies { view: SideView; label: string; icon: typeof Files }[];

export function ActivityBar() {
  const { layout } = usePage();
  const { openPage } = useActions();
  const { sideView, sideOpen } = usePageState("layout", (state) => state);
  const portCount = useSandboxState("ports", (state) => state.list.length);
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
      <button type="button" className="last" aria-label="Settings" title="Settings" onClick={() => openPage("settings")}>
        <Settings size={19} strokeWidth={1.8} />
      </button>
    </nav>
  );
}
