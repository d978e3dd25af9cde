import type { Uses } from "../actions/actions.ts";

// Shows what the followed person sees. Typing ends it: the editor then belongs to this person again.
export function followPerson(deps: Uses<"documents" | "openFile" | "together">): void {
  const { together, documents } = deps;
  let shown = "";

  together.store.subscribe(({ people, following }) => {
    const place = people.find(({ id }) => id === following)?.place;
    const key = place ? `${following} ${place.path} ${place.selection?.head}` : "";
    if (key === shown) return;
    shown = key;
    if (!place) return;
    deps.openFile(place.path, locationOf(documents.textOf(place.path), place.selection?.head ?? 0));
  });

  const endOnTyping = (event: KeyboardEvent) => {
    const isTyping = event.target instanceof Element && event.target.closest(".cm-content") !== null;
    // Shortcuts and modifiers alone are no typing.
    const isModifier = event.ctrlKey || event.metaKey || event.altKey || event.key === "Shift";
    if (together.store.getState().following !== null && isTyping && !isModifier) together.follow(null);
  };
  addEventListener("keydown", endOnTyping, { capture: true });
}

export function locationOf(text: string, position: number): { line: number; column: number } {
  const lines = text.replaceAll("\r\n", "\n").slice(0, position).split("\n");
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}
