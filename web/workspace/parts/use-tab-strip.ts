import { useEffect, useRef, type WheelEvent } from "react";

// A row of tabs that can overflow: scrolls the active tab into view, and scrolls with the mouse wheel.
export function useTabStrip(active: string | null) {
  const ref = useRef<HTMLDivElement>(null);
  // The observer reports the row once when it starts, after the layout of the page, and again when the row gets narrower, for example
  // because a group was added beside it.
  useEffect(() => {
    const strip = ref.current;
    if (!strip) return;
    const showActive = () => strip.querySelector('[data-active="true"]')?.scrollIntoView({ block: "nearest", inline: "nearest" });
    const observer = new ResizeObserver(showActive);
    observer.observe(strip);
    return () => observer.disconnect();
  }, [active]);
  const onWheel = ({ deltaX, deltaY }: WheelEvent) => {
    if (deltaX === 0) ref.current?.scrollBy({ left: deltaY });
  };
  return { ref, onWheel };
}
