import { ChevronDown } from "lucide-react";
import { lazy, Suspense, useState, type MouseEvent } from "react";
import { loadModule } from "../../browser/load-module.ts";
import { IconButton } from "../../parts/icon-button.tsx";

const AllTabsMenu = lazy(() => loadModule(() => import("./all-tabs-menu.tsx")));

// A menu of the tabs in every group, for those that are scrolled out of view.
export function AllTabsButton() {
  const [at, setAt] = useState<{ x: number; y: number } | null>(null);
  const showMenu = (event: MouseEvent<HTMLElement>) => {
    const { right, bottom } = event.currentTarget.getBoundingClientRect();
    setAt({ x: right, y: bottom });
  };
  return (
    <>
      <IconButton label="All open tabs" aria-haspopup="menu" aria-expanded={at !== null} onClick={showMenu}>
        <ChevronDown size={15} />
      </IconButton>
      <Suspense>{at && <AllTabsMenu at={at} onClose={() => setAt(null)} />}</Suspense>
    </>
  );
}
