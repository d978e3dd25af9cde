export type PanelSizes = Record<string, number>;

export interface SplitStart {
  container: HTMLElement | null;
  orientation: "horizontal" | "vertical";
  panels: { id: string; minPx: number }[];
  // The panel after the separator.
  index: number;
}

interface Listener {
  resize: (sizes: PanelSizes) => void;
  store: (sizes: PanelSizes) => void;
}

const KEY_STEP_PX = 24;

// Moves the separator between two panels with the pointer.
export function followDrag(down: PointerEvent, start: SplitStart, { resize, store }: Listener): void {
  const separator = down.currentTarget;
  if (!(separator instanceof HTMLElement) || down.button !== 0) return;
  const position = ({ clientX, clientY }: PointerEvent) => (start.orientation === "horizontal" ? clientX : clientY);
  const before = measure(start);
  let now: PanelSizes | null = null;
  const move = (event: PointerEvent) => {
    now = moveSeparator(start, before, position(event) - position(down));
    resize(now);
  };
  separator.setPointerCapture(down.pointerId);
  separator.dataset.dragged = "";
  separator.addEventListener("pointermove", move);
  separator.addEventListener(
    "lostpointercapture",
    () => {
      separator.removeEventListener("pointermove", move);
      delete separator.dataset.dragged;
      if (now) store(now);
    },
    { once: true },
  );
}

// The sizes after a key on a separator, or null if the key means nothing there.
export function resizeByKey(key: string, start: SplitStart): PanelSizes | null {
  const [less, more] = start.orientation === "horizontal" ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
  const steps: Record<string, number> = { [less!]: -KEY_STEP_PX, [more!]: KEY_STEP_PX, Home: -Infinity, End: Infinity };
  const step = steps[key];
  return step === undefined ? null : moveSeparator(start, measure(start), step);
}

function measure({ container, orientation, panels }: SplitStart): PanelSizes {
  const elements = [...(container?.querySelectorAll<HTMLElement>(":scope > .split-panel") ?? [])];
  const side = orientation === "horizontal" ? "offsetWidth" : "offsetHeight";
  return Object.fromEntries(panels.map(({ id }, i) => [id, elements[i]?.[side] ?? 0]));
}

// Neither neighbour becomes smaller than its minimum.
export function moveSeparator({ panels, index }: Pick<SplitStart, "panels" | "index">, sizes: PanelSizes, byPx: number): PanelSizes {
  const left = panels[index - 1];
  const right = panels[index];
  if (!left || !right) return sizes;
  const leftPx = sizes[left.id] ?? 0;
  const rightPx = sizes[right.id] ?? 0;
  const moved = Math.max(left.minPx - leftPx, Math.min(rightPx - right.minPx, byPx));
  return { ...sizes, [left.id]: leftPx + moved, [right.id]: rightPx - moved };
}
