import "@xterm/xterm/css/xterm.css";
import { useEffect, useRef } from "react";
import type { Terminal } from "@berth/contract/daemon.ts";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { screenFor } from "./terminal-screen.ts";
import { describeExit } from "./terminal-tab.tsx";

// Where a terminal's screen is shown. Loaded with xterm when the first terminal is seen.
export default function TerminalView({ terminal }: { terminal: Terminal }) {
  const workspace = useWorkspace();
  const place = useRef<HTMLDivElement>(null);
  const wished = useWorkspaceState("terminals", (state) => state.focus === terminal.id);
  const active = useWorkspaceState("layout", (state) => state.activeTerminal === terminal.id);

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const screen = screenFor(workspace, terminal.id);
    element.append(screen.element);
    screen.fit();
    const resized = new ResizeObserver(() => screen.fit());
    resized.observe(element);
    return () => {
      resized.disconnect();
      screen.element.remove();
    };
  }, [workspace, terminal.id]);

  useEffect(() => {
    if (!wished) return;
    screenFor(workspace, terminal.id).focus();
    workspace.terminals.focused();
  }, [workspace, terminal.id, wished]);

  return (
    <div className="terminal-view" onFocus={() => !active && workspace.layout.set({ activeTerminal: terminal.id })}>
      <div ref={place} className="screen" />
      {terminal.exit && (
        <div className="ended" role="status">
          <span className="grow">The program ended ({describeExit(terminal.exit)}).</span>
          <button type="button" className="button small" onClick={() => void workspace.terminals.close(terminal.id)}>
            Close
          </button>
        </div>
      )}
    </div>
  );
}
