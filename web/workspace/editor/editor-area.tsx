import { lazy, Suspense, useEffect, useRef } from "react";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { loadModule } from "../browser/load-module.ts";
import type { Tab } from "../state/page/layout.ts";
import { Previews } from "../ports/previews.tsx";
import { FileView } from "./file-view.tsx";
import { PathBar } from "./path-bar.tsx";
import { TabBar } from "./tab-bar.tsx";
import { Welcome } from "./welcome.tsx";

const DiffView = lazy(() => loadModule(() => import("./diff-view.tsx")));
const MarkdownView = lazy(() => loadModule(() => import("./markdown-view.tsx")));

export function EditorArea() {
  const { documents, focusRequest } = useWorkspace();
  const area = useRef<HTMLElement>(null);
  const tabs = useWorkspaceState("layout", (state) => state.tabs);
  const activeTab = useWorkspaceState("layout", (state) => state.activeTab);
  const active = tabs.find(({ id }) => id === activeTab);
  const previewPort = active?.kind === "preview" ? active.port : null;

  // Restored tabs load their file when they are first shown.
  useEffect(() => {
    if (active && "path" in active) void documents.open(active.path);
  }, [documents, active]);

  const focusRequested = useWorkspaceState("focusRequest", (state) => state.target === "tab");
  useEffect(() => {
    if (!focusRequested) return;
    area.current?.querySelector<HTMLElement>('[role="tab"][aria-selected="true"], .tab-content button')?.focus();
    focusRequest.clear();
  }, [focusRequest, focusRequested]);

  return (
    <main ref={area} className="editor-area">
      {tabs.length > 0 && <TabBar tabs={tabs} activeTab={activeTab} />}
      {active?.kind === "file" && active.path.includes("/") && <PathBar path={active.path} />}
      <div className="tab-content" {...(active ? { role: "tabpanel", id: "tab-content", "aria-label": labelOf(active) } : {})}>
        <Previews ports={tabs.flatMap((tab) => (tab.kind === "preview" ? [tab.port] : []))} shown={previewPort} />
        <Suspense fallback={<div className="loading-center" aria-busy="true" />}>
          {active ? active.kind !== "preview" && <TabView tab={active} /> : <Welcome />}
        </Suspense>
      </div>
    </main>
  );
}

const labelOf = (tab: Tab) => ("path" in tab ? tab.path : `Port ${tab.port}`);

function TabView({ tab }: { tab: Exclude<Tab, { kind: "preview" }> }) {
  if (tab.kind === "file") return <FileView path={tab.path} />;
  if (tab.kind === "markdown") return <MarkdownView key={tab.id} path={tab.path} />;
  return <DiffView key={tab.id} path={tab.path} against={tab.kind === "compare" ? "disk" : "original"} />;
}
