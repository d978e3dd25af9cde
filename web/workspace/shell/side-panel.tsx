import { ChangesPanel } from "../changes/changes-panel.tsx";
import { useWorkspaceState } from "../state/context.ts";
import { Explorer } from "../files/explorer.tsx";
import { PortsPanel } from "../ports/ports-panel.tsx";
import { SearchPanel } from "../search/search-panel.tsx";

const panels = { files: Explorer, search: SearchPanel, changes: ChangesPanel, ports: PortsPanel };

export function SidePanel() {
  const view = useWorkspaceState("layout", (state) => state.sideView);
  const Panel = panels[view];
  return (
    <aside className="side-panel" aria-label={view}>
      <Panel />
    </aside>
  );
}
