import { useState, type DragEvent } from "react";
import { usePage } from "../../state/context.ts";
import { useActions } from "../../actions/actions.ts";

// Lets a tab or a file be dropped between the tabs of a group. Returns the index at which it would be inserted.
export function useTabDrop(group: string) {
  const { tabDrag } = usePage();
  const { dropOnEditor } = useActions();
  const [index, setIndex] = useState<number | null>(null);

  const handlers = {
    onDragOver(event: DragEvent) {
      if (tabDrag.store.getState().dragged === null) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = "move";
      setIndex(indexAt(event));
    },
    onDragLeave(event: DragEvent) {
      if (!(event.relatedTarget instanceof Node && event.currentTarget.contains(event.relatedTarget))) setIndex(null);
    },
    onDrop(event: DragEvent) {
      const { dragged } = tabDrag.store.getState();
      setIndex(null);
      if (dragged === null) return;
      event.preventDefault();
      tabDrag.end();
      dropOnEditor(dragged, { group, at: indexAt(event) });
    },
  };
  return { index, handlers };
}

// How many tabs have their middle on the left of the pointer.
function indexAt({ clientX, currentTarget }: DragEvent): number {
  const middles = [...currentTarget.querySelectorAll(".tab")].map((tab) => {
    const { left, width } = tab.getBoundingClientRect();
    return left + width / 2;
  });
  return middles.filter((middle) => middle < clientX).length;
}
