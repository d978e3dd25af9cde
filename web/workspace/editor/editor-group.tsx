import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { usePage, usePageState, useSandbox } from "../state/context.ts";
import { loadModule } from "../browser/load-module.ts";
import { activeTabIn, type EditorGroup } from "../state/tabs/editor-group.ts";
import type { PageName, Tab } from "../state/tabs/tab.ts";
import { Previews } from "../ports/previews.tsx";
import { DropZones } from "./drop-zones.tsx";
import { FileView } from "./file-view.tsx";
import { PathBar } from "./path-bar.tsx";
import { TabBar } from "./tabs/tab-bar.tsx";
import { tabName } from "./tabs/tab-names.ts";

const LazyWelcome = lazy(() => loadModule(() => import("./welcome.tsx")));
const DiffView = lazy(() => loadModule(() => import("./diff-view.tsx")));
const RevisionsView = lazy(() => loadModule(() => import("./revisions-view.tsx")));
const OutputView = lazy(() => loadModule(() => import("../programs/output-view.tsx")));
const pages = {
  settings: lazy(() => loadModule(() => import("./settings/settings-page.tsx"))),
  settingsJson: lazy(() => loadModule(() => import("./settings/settings-json.tsx"))),
  shortcuts: lazy(() => loadModule(() => import("./settings/shortcuts-page.tsx"))),
} satisfies Record<PageName, unknown>;
const MarkdownView = lazy(() => loadModule(() => import("./markdown-view.tsx")));

// One column of the editor area: its tabs, and the content of the active one.
export function EditorGroupView({ group }: { group: EditorGroup }) {
  const { documents, layout, focusRequest } = usePage();
  const section = useRef<HTMLElement>(null);
  const isActive = usePageState("layout", ({ activeGroup }) => activeGroup === group.id);
  const number = usePageState("layout", ({ groups }) => (groups.length < 2 ? null : groups.findIndex(({ id }) => id === group.id) + 1));
  const shown = activeTabIn(group);
  const previewPort = shown?.kind === "preview" ? shown.port : null;

  // Restored tabs load their file when they are first shown.
  useEffect(() => {
    if (shown && "path" in shown) void documents.open(shown.path);
  }, [documents, shown]);

  const focusRequested = usePageState("focusRequest", (state) => state.target === "tab") && isActive;
  useEffect(() => {
    if (!focusRequested) return;
    section.current?.querySelector<HTMLElement>('[role="tab"][aria-selected="true"], .tab-content button')?.focus();
    focusRequest.clear();
  }, [focusRequest, focusRequested]);

  const activate = () => layout.focusGroup(group.id);
  return (
    <section
      ref={section}
      className="editor-group"
      data-active={isActive}
      aria-label={number === null ? "Editor" : `Editor group ${number}`}
      onFocusCapture={activate}
      onPointerDownCapture={activate}
    >
      {group.tabs.length > 0 && <TabBar group={group} label={number === null ? "Open files" : `Open files, group ${number}`} />}
      {shown?.kind === "file" && shown.path.includes("/") && <PathBar path={shown.path} />}
      <div className="tab-content" {...(shown ? { role: "tabpanel", id: `tab-content-${group.id}`, "aria-label": labelOf(shown) } : {})}>
        <Previews ports={group.tabs.flatMap((tab) => (tab.kind === "preview" ? [tab.port] : []))} shown={previewPort} />
        <Suspense fallback={<div className="loading-center" aria-busy="true" />}>
          {shown ? shown.kind !== "preview" && <TabView tab={shown} group={group.id} active={isActive} /> : <Welcome />}
        </Suspense>
        <DropZones group={group.id} />
      </div>
    </section>
  );
}

const labelOf = (tab: Tab) => ("path" in tab ? tab.path : tabName(tab));

// A first visit opens the README as soon as the files are known, so until then nothing else is shown.
function Welcome() {
  const { initialRequest } = useSandbox();
  const [isKnown, setKnown] = useState(false);
  useEffect(() => void initialRequest.finally(() => setKnown(true)), [initialRequest]);
  return isKnown && <LazyWelcome />;
}

interface TabViewProps {
  tab: Exclude<Tab, { kind: "preview" }>;
  group: string;
  active: boolean;
}

function TabView({ tab, group, active }: TabViewProps) {
  if (tab.kind === "file") return <FileView path={tab.path} group={group} active={active} />;
  if (tab.kind === "markdown") return <MarkdownView key={tab.id} path={tab.path} />;
  if (tab.kind === "page") return <Page page={tab.page} />;
  if (tab.kind === "output") return <OutputView key={tab.id} processId={tab.processId} title={tab.title} />;
  if (tab.kind === "revisions") return <RevisionsView key={tab.id} tab={tab} />;
  return <DiffView key={tab.id} path={tab.path} against={tab.kind === "compare" ? "disk" : "original"} />;
}

function Page({ page }: { page: PageName }) {
  const Shown = pages[page];
  return <Shown />;
}
