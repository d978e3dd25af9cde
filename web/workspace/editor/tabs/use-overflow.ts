import { useEffect, useState, type RefObject } from "react";

// Whether the content of an element is wider than the element.
export function useOverflow(element: RefObject<HTMLElement | null>, content: unknown): boolean {
  const [overflows, setOverflows] = useState(false);
  useEffect(() => {
    const measured = element.current;
    if (!measured) return;
    const observer = new ResizeObserver(() => setOverflows(measured.scrollWidth > measured.clientWidth));
    observer.observe(measured);
    return () => observer.disconnect();
  }, [element, content]);
  return overflows;
}
