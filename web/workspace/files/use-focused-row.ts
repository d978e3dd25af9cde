import { useEffect, useLayoutEffect, useRef, type RefObject } from "react";
import { scrollToRow } from "../browser/use-visible-range.ts";

interface FocusedRowOptions {
  // The focused path, and its row or -1.
  focused: string | null;
  index: number;
  count: number;
}

// Keeps the browser's focus on the focused row and scrolls to it when it changes. If its file is deleted, the row that takes
// its place is focused. Returns the focused row, or -1.
export function useFocusedRow(scroller: RefObject<HTMLElement | null>, { focused, index, count }: FocusedRowOptions): number {
  const lastIndex = useRef(-1);
  const scrolledTo = useRef<string | null>(null);
  const hasFocus = useHasFocus(scroller);
  const current = focused === null ? -1 : Math.min(index >= 0 ? index : lastIndex.current, count - 1);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    lastIndex.current = current;
    if (index >= 0 && scrolledTo.current !== focused) {
      scrollToRow(element, index);
      scrolledTo.current = focused;
    }
    const { activeElement } = document;
    // A name is being typed.
    if (!hasFocus.current || activeElement instanceof HTMLInputElement) return;
    const row = element.querySelector<HTMLElement>(`[data-index="${Math.max(0, current)}"]`);
    if (row !== activeElement) row?.focus({ preventScroll: true });
  });
  return current;
}

// A row that disappears while it has the focus leaves the focus to the tree.
function useHasFocus(scroller: RefObject<HTMLElement | null>): RefObject<boolean> {
  const hasFocus = useRef(false);
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const onFocusIn = () => void (hasFocus.current = true);
    const onFocusOut = ({ target, relatedTarget }: FocusEvent) => {
      // Decided after the page has been changed, because a row leaves the page, or turns into a text field, after this event.
      queueMicrotask(() => {
        const hasLeft = relatedTarget !== null || (target instanceof Node && target.isConnected);
        if (hasLeft && !element.contains(document.activeElement)) hasFocus.current = false;
      });
    };
    element.addEventListener("focusin", onFocusIn);
    element.addEventListener("focusout", onFocusOut);
    return () => {
      element.removeEventListener("focusin", onFocusIn);
      element.removeEventListener("focusout", onFocusOut);
    };
  }, [scroller]);
  return hasFocus;
}
