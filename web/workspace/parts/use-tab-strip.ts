import { useEffect, useRef, type WheelEvent } from "react";

// A row of tabs that can overflow: scrolls the active tab into view, and scrolls with the mouse wheel.
export function useTabStrip(active: string | null) {
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    ref.current?.querySelector('[data-active="true"]')?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [active]);
  const onWheel = ({ deltaX, deltaY }: WheelEvent) => {
    if (deltaX === 0) ref.current?.scrollBy({ left: deltaY });
  };
  return { ref, onWheel };
}
