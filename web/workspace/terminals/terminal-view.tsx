import "@xterm/xterm/css/xterm.css";
import { X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import type { Terminal } from "@berth/contract/daemon.ts";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { useIsTouchScreen } from "../browser/media-query.ts";
import { FindBar } from "./find-bar.tsx";
import { screenFor } from "./terminal-screen.ts";
import { IconButton } from "../parts/icon-button.tsx";
import { terminalName } from "./terminal-name.ts";
import { TouchKeys } from "./touch-keys.tsx";
import { describeExit } from "./terminal-tab.tsx";

// Shows the screen of a terminal. Loaded together with xterm when the first terminal is shown.
export default function TerminalView({ terminal, split }: { terminal: Terminal; split: boolean }) {
  const workspace = useWorkspace();
  const container = useRef<HTMLDivElement>(null);
  const focusRequested = useWorkspaceState("terminals", (state) => state.focusId === terminal.id);
  const active = useWorkspaceState("layout", (state) => state.activeTerminal === terminal.id);

  useEffect(() => {
    const element = container.current;
    if (!element) return;
    const mounted = screenFor(workspace, terminal.id).mount(element);
    return () => mounted[Symbol.dispose]();
  }, [workspace, terminal.id]);

  useEffect(() => {
    if (!focusRequested) return;
    screenFor(workspace, terminal.id).focus();
    workspace.terminals.focused();
  }, [workspace, terminal.id, focusRequested]);

  const isTouchScreen = useIsTouchScreen();
  const requested = useWorkspaceState("terminals", (state) => (active ? state.requested : null));
  const [finding, setFinding] = useState(false);
  useEffect(() => {
    if (requested === null) return;
    if (requested === "clear") screenFor(workspace, terminal.id).clear();
    else setFinding(true);
    workspace.terminals.request(null);
  }, [workspace, terminal.id, requested]);
  const endFinding = () => {
    setFinding(false);
    screenFor(workspace, terminal.id).focus();
  };

  return (
    <div className="terminal-view" onFocus={() => !active && workspace.layout.set({ activeTerminal: terminal.id })}>
      {split && <PaneHead terminal={terminal} />}
      {finding && <FindBar terminalScreen={screenFor(workspace, terminal.id)} onClose={endFinding} />}
      <div ref={container} className="screen" />
      {active && isTouchScreen && !terminal.exit && workspace.mayEdit && <TouchKeys terminalScreen={screenFor(workspace, terminal.id)} />}
      {terminal.exit && (
        <div className="ended" role="status">
          <span className="grow">The program has ended ({describeExit(terminal.exit)}).</span>
          {workspace.mayEdit && (
            <button type="button" className="button small" onClick={() => void workspace.terminals.close(terminal.id)}>
              Close
            </button>
          )}
        </div>
      )}
    </div>
  );
}

// Names one of several terminals side by side, and closes it.
function PaneHead({ terminal }: { terminal: Terminal }) {
  const { mayEdit, terminals } = useWorkspace();
  const name = useWorkspaceState("layout", (state) => terminalName(terminal, state.terminalNames));
  return (
    <div className="pane-head">
      <span className="grow truncate">{name}</span>
      {mayEdit && (
        <IconButton label={`Close ${name}`} onClick={() => terminals.closePane(terminal.id)}>
          <X size={13} />
        </IconButton>
      )}
    </div>
  );
}
