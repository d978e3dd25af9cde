import { lazy, Suspense, useEffect, type KeyboardEvent } from "react";
import { usePage, usePageState, useSessionState } from "../state/context.ts";
import { useActions } from "../actions/actions.ts";
import { lazyPart } from "../browser/lazy-part.ts";
import { loadModule } from "../browser/load-module.ts";
import { NoticeList } from "./notice-list.tsx";
import { activeGroupOf, activeTabOf } from "../state/tabs/editor-groups.ts";
import { nameOf } from "../text/paths.ts";
import { Dialogs } from "./dialogs.tsx";
import { isCompactScreen, useIsCompactScreen, useIsNarrowScreen } from "../browser/media-query.ts";
import { useCommandShortcuts } from "../palette/use-command-shortcuts.ts";
import { useCommands } from "../palette/use-commands.ts";
import { TerminalPanel } from "../terminals/terminal-panel.tsx";
import { ActivityBar } from "./activity-bar.tsx";
import { EditorGroupView } from "../editor/editor-group.tsx";
import { isAgentHidden, isSupportVisiting } from "../state/session/session-store.ts";
import { SidePanel } from "./side-panel.tsx";
import { Split } from "./split/split.tsx";
import { StatusBar } from "./status-bar.tsx";
import { TopBar } from "./top-bar.tsx";

const SupportNotice = lazyPart(() => import("../session/support-notice.tsx"));
export const PausedOverlay = lazyPart(() => import("../session/paused-overlay.tsx"));
const AgentPanel = lazy(() => loadModule(() => import("../agent/agent-panel.tsx")));

export function Workbench() {
  const commands = useCommands();
  const paused = useSessionState((state) => state.phase === "paused");
  const isVisited = useSessionState(isSupportVisiting);
  const narrow = useIsNarrowScreen();
  useCommandShortcuts(commands);
  useTitle();
  return (
    <>
      <div className="workbench" inert={paused}>
        <TopBar />
        {isVisited && <SupportNotice />}
        <div className="body">
          <ActivityBar />
          {narrow ? <NarrowBody /> : <WideBody />}
        </div>
        <StatusBar />
        <Dialogs {...commands} />
        <NoticeList />
      </div>
      {paused && <PausedOverlay />}
    </>
  );
}

// Names the file and the partner in the browser's tab, so that several workspaces are easy to tell apart.
function useTitle() {
  const partner = useSessionState((state) => state.session?.partnerName ?? "Workspace");
  const active = usePageState("layout", activeTabOf);
  const fileName = active && "path" in active ? nameOf(active.path) : null;
  useEffect(() => {
    document.title = fileName === null ? partner : `${fileName} · ${partner}`;
  }, [fileName, partner]);
}

function WideBody() {
  const compact = useIsCompactScreen();
  const sideOpen = usePageState("layout", (state) => state.sideOpen);
  const agentOpen = useAgentOpen();
  return (
    <div className="columns">
      <Split
        id="columns"
        orientation="horizontal"
        panels={[
          sideOpen && !compact && { id: "side", px: 260, minPx: 170, content: <SidePanel /> },
          { id: "main", minPx: 260, content: <MainBesideOverlay /> },
          agentOpen && { id: "agent", px: 380, minPx: 280, content: <Agent /> },
        ]}
      />
      {sideOpen && compact && <SideOverlay />}
    </div>
  );
}

// The overlay disappears when the keyboard focus or a click goes to the part below it.
function MainBesideOverlay() {
  const { layout } = usePage();
  const uncover = () => {
    if (isCompactScreen() && layout.store.getState().sideOpen) layout.set({ sideOpen: false });
  };
  return (
    <div className="uncovered" onFocusCapture={uncover} onPointerDownCapture={uncover}>
      <MainColumn />
    </div>
  );
}

function SideOverlay() {
  const { layout } = usePage();
  const { focusEditor } = useActions();
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.defaultPrevented || event.target instanceof HTMLInputElement) return;
    layout.set({ sideOpen: false });
    focusEditor();
  };
  return (
    <div className="side-overlay" onKeyDown={onKeyDown} role="presentation">
      <SidePanel />
    </div>
  );
}

function MainColumn() {
  const terminalsOpen = usePageState("layout", (state) => state.terminalsOpen);
  return (
    <Split
      id="main-rows"
      orientation="vertical"
      panels={[
        { id: "editor", share: 2, minPx: 100, content: <EditorArea /> },
        terminalsOpen && { id: "terminals", share: 1, minPx: 90, content: <TerminalPanel /> },
      ]}
    />
  );
}

// The editor groups side by side. A narrow screen has room for the active one.
function EditorArea() {
  const narrow = useIsNarrowScreen();
  const groups = usePageState("layout", (state) => state.groups);
  const active = usePageState("layout", activeGroupOf);
  const shown = narrow ? [active] : groups;
  return (
    <main className="editor-area">
      <Split
        id="editor-columns"
        orientation="horizontal"
        panels={shown.map((group) => ({ id: `group-${group.id}`, minPx: 200, content: <EditorGroupView group={group} /> }))}
      />
    </main>
  );
}

// A narrow screen has room for one panel at a time.
function NarrowBody() {
  const sideOpen = usePageState("layout", (state) => state.sideOpen);
  const agentOpen = useAgentOpen();
  return <div className="grow">{agentOpen ? <Agent /> : sideOpen ? <SidePanel /> : <MainColumn />}</div>;
}

function useAgentOpen(): boolean {
  const isOpen = usePageState("layout", (state) => state.agentOpen);
  const isHidden = useSessionState(isAgentHidden);
  return isOpen && !isHidden;
}

const Agent = () => (
  <Suspense fallback={<div className="loading-center" aria-busy="true" />}>
    <AgentPanel />
  </Suspense>
);
