import { isTouchScreen } from "./media-query.ts";
import { useLayoutEffect, useState, type RefObject } from "react";

// The height of a row in pixels: `--row` in tokens.css and touch.css.
export const ROW_HEIGHT = isTouchScreen() ? 40 : 24;

// The range moves in steps and reaches one step beyond the screen, so that most scroll events render nothing.
const STEP = 4;

export interface RowRange {
  first: number;
  // Exclusive.
  end: number;
}

// The rows of a list that are, or are about to be, on the screen.
export function useVisibleRange(scroller: RefObject<HTMLElement | null>, rowHeight = ROW_HEIGHT): RowRange {
  const [range, setRange] = useState<RowRange>({ first: 0, end: STEP });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const measure = () => {
      const next = rangeAt(element.scrollTop, element.clientHeight, rowHeight);
      setRange((now) => (now.first === next.first && now.end === next.end ? now : next));
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    measure();
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, [scroller, rowHeight]);
  return range;
}

export function rangeAt(scrollTop: number, height: number, rowHeight = ROW_HEIGHT): RowRange {
  const firstVisible = Math.floor(scrollTop / rowHeight);
  const endVisible = Math.ceil((scrollTop + height) / rowHeight);
  return {
    first: Math.max(0, Math.floor((firstVisible - STEP) / STEP) * STEP),
    end: Math.ceil((endVisible + STEP) / STEP) * STEP,
  };
}

export function scrollToRow(scroller: HTMLElement, index: number, rowHeight = ROW_HEIGHT): void {
  const rowTop = index * rowHeight;
  const rowBottom = rowTop + rowHeight;
  if (rowTop < scroller.scrollTop) scroller.scrollTop = rowTop;
  else if (rowBottom > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = rowBottom - scroller.clientHeight;
}
