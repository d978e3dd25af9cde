import { Fragment, type ReactNode } from "react";
import { Group, Panel, Separator } from "react-resizable-panels";
import { useWorkspace } from "../state/context.ts";

export interface SplitPanel {
  id: string;
  content: ReactNode;
  defaultSize?: string;
  minSize?: string;
  // Keeps its size in pixels when the window is resized.
  keepPixels?: boolean;
}

interface SplitProps {
  id: string;
  orientation: "horizontal" | "vertical";
  panels: (SplitPanel | false)[];
}

// Panels with resize handles between them. The layout stores their sizes.
export function Split({ id, orientation, panels }: SplitProps) {
  const { layout } = useWorkspace();
  const shown = panels.filter((panel) => panel !== false);
  const key = `${id}:${shown.map((panel) => panel.id).join("+")}`;
  const storedSizes = layout.store.getState().sizes[key];
  return (
    <Group
      // A stable id keeps the other panels mounted when one is added or removed.
      id={id}
      className="group"
      orientation={orientation}
      {...(storedSizes ? { defaultLayout: storedSizes } : {})}
      onLayoutChanged={(sizes, { isUserInteraction }) => {
        if (isUserInteraction) layout.set((state) => ({ sizes: { ...state.sizes, [key]: sizes } }));
      }}
    >
      {shown.map(({ id: panelId, content, defaultSize, minSize, keepPixels }, index) => (
        <Fragment key={panelId}>
          {index > 0 && <Separator className="separator" aria-label={`Resize ${panelId}`} />}
          <Panel
            id={panelId}
            {...(minSize ? { minSize } : {})}
            {...(defaultSize ? { defaultSize } : {})}
            groupResizeBehavior={keepPixels ? "preserve-pixel-size" : "preserve-relative-size"}
          >
            {content}
          </Panel>
        </Fragment>
      ))}
    </Group>
  );
}
