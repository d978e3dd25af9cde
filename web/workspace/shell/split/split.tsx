import { Fragment, useEffect, useRef, useState, type CSSProperties, type ReactNode } from "react";
import { usePage } from "../../state/context.ts";
import { followDrag, resizeByKey, type PanelSizes } from "./split-sizes.ts";

export interface SplitPanel {
  id: string;
  content: ReactNode;
  minPx: number;
  // A panel with a width of its own keeps it when the window is resized. The others share what is left.
  px?: number;
  share?: number;
}

interface SplitProps {
  id: string;
  orientation: "horizontal" | "vertical";
  panels: (SplitPanel | false)[];
}

// Panels with resize handles between them. The layout stores their sizes.
export function Split({ id, orientation, panels }: SplitProps) {
  const { layout } = usePage();
  const container = useRef<HTMLDivElement>(null);
  const shown = panels.filter((panel) => panel !== false);
  const key = `${id}:${shown.map((panel) => panel.id).join("+")}`;
  // The sizes while a person drags.
  const [dragged, setDragged] = useState<{ key: string; sizes: PanelSizes } | null>(null);
  const sizes = dragged?.key === key ? dragged.sizes : layout.store.getState().panelSizes[key];
  const resize = (now: PanelSizes) => setDragged({ key, sizes: now });
  const store = (now: PanelSizes | null) => {
    if (now) resize(now);
    else setDragged(null);
    layout.set(({ panelSizes: { [key]: _before, ...others } }) => ({ panelSizes: now ? { ...others, [key]: now } : others }));
  };
  useEffect(() => showPercentages(container.current, orientation));
  const start = (index: number) => ({ container: container.current, orientation, panels: shown, index });
  return (
    // Stable keys keep the other panels mounted when one is added or removed.
    <div ref={container} className={`split ${orientation}`}>
      {shown.map((panel, index) => (
        <Fragment key={panel.id}>
          {index > 0 && (
            <div
              className="separator"
              role="separator"
              tabIndex={0}
              aria-label={`Resize ${panel.id}`}
              aria-orientation={orientation === "horizontal" ? "vertical" : "horizontal"}
              aria-valuenow={50}
              onPointerDown={(event) => followDrag(event.nativeEvent, start(index), { resize, store })}
              onKeyDown={(event) => {
                const now = resizeByKey(event.key, start(index));
                if (now === null) return;
                event.preventDefault();
                store(now);
              }}
              onDoubleClick={() => store(null)}
            />
          )}
          <div className="split-panel" style={styleOf(panel, orientation, sizes?.[panel.id])}>
            {panel.content}
          </div>
        </Fragment>
      ))}
    </div>
  );
}

function styleOf({ minPx, px, share = 1 }: SplitPanel, orientation: SplitProps["orientation"], size: number | undefined): CSSProperties {
  const flex = px === undefined ? `${size ?? share} 1 0` : `0 1 ${size ?? px}px`;
  return { flex, [orientation === "horizontal" ? "minWidth" : "minHeight"]: minPx };
}

// A separator reports the size of the panel before it to screen readers.
function showPercentages(container: HTMLElement | null, orientation: SplitProps["orientation"]): void {
  const side = orientation === "horizontal" ? "offsetWidth" : "offsetHeight";
  for (const separator of container?.querySelectorAll<HTMLElement>(":scope > .separator") ?? []) {
    const before = separator.previousElementSibling as HTMLElement;
    separator.ariaValueNow = String(Math.round((100 * before[side]) / Math.max(1, container?.[side] ?? 0)));
  }
}
