import { useState, type DragEvent } from "react";
import { usePage, usePageState } from "../state/context.ts";
import { useActions } from "../actions/actions.ts";
import { MAX_GROUPS } from "../state/tabs/editor-groups.ts";

type Zone = "left" | "end" | "right";

// Covers the content of a group while a tab or a file is dragged, because a frame below would swallow the drag. Shows where it
// would go: into this group, or into a new one on its left or right.
export function DropZones({ group }: { group: string }) {
  const { tabDrag } = usePage();
  const { dropOnEditor } = useActions();
  const isDragging = usePageState("tabDrag", ({ dragged }) => dragged !== null);
  const mayAdd = usePageState("layout", ({ groups }) => groups.length < MAX_GROUPS);
  const [zone, setZone] = useState<Zone | null>(null);
  if (!isDragging) return null;

  const zoneAt = ({ clientX, currentTarget }: DragEvent): Zone => {
    const { left, width } = currentTarget.getBoundingClientRect();
    const share = (clientX - left) / width;
    if (!mayAdd || (share > EDGE && share < 1 - EDGE)) return "end";
    return share <= EDGE ? "left" : "right";
  };
  return (
    <div
      className="drop-zones"
      onDragOver={(event) => {
        event.preventDefault();
        event.dataTransfer.dropEffect = "move";
        setZone(zoneAt(event));
      }}
      onDragLeave={() => setZone(null)}
      onDrop={(event) => {
        event.preventDefault();
        const { dragged } = tabDrag.store.getState();
        tabDrag.end();
        setZone(null);
        if (dragged) dropOnEditor(dragged, { group, at: zoneAt(event) });
      }}
    >
      {zone && <div className="drop-zone" data-zone={zone} />}
    </div>
  );
}

// The share of the width at which a tab is dropped beside the group.
const EDGE = 0.3;
