import { useIsNarrowScreen } from "../browser/media-query.ts";
import { EditorGroupView } from "../editor/editor-group.tsx";
import { useWorkspaceState } from "../state/context.ts";
import { activeGroupOf } from "../state/tabs/editor-groups.ts";
import { Split } from "./split.tsx";

// The editor groups side by side. A narrow screen has room for the active one.
export function EditorArea() {
  const narrow = useIsNarrowScreen();
  const groups = useWorkspaceState("layout", (state) => state.groups);
  const active = useWorkspaceState("layout", activeGroupOf);
  const shown = narrow ? [active] : groups;
  return (
    <main className="editor-area">
      <Split
        id="editor-columns"
        orientation="horizontal"
        panels={shown.map((group) => ({ id: `group-${group.id}`, minPx: 200, content: <EditorGroupView group={group} /> }))}
      />
    </main>
  );
}
