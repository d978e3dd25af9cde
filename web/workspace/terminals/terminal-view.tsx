import "@xterm/xterm/css/xterm.css";
import { X } from "lucide-react";
import { useCallback, useEffect, useRef, useState } from "react";
import type { Terminal } from "@berth/contract/daemon.ts";
import { usePage, usePageState, useSandbox, useSandboxState, useSession } from "../state/context.ts";
import { useActions } from "../actions/actions.ts";
import { useIsTouchScreen } from "../browser/media-query.ts";
import { FindBar } from "./find-bar.tsx";
import { screenFor } from "./terminal-screen.ts";
import { IconButton } from "../parts/icon-button.tsx";
import { terminalName } from "./terminal-name.ts";
import { TouchKeys } from "./touch-keys.tsx";
import { describeExit } from "./terminal-tab.tsx";

// Shows the screen of a terminal. Loaded together with xterm when the first terminal is shown.
export default function TerminalView({ terminal, split }: { terminal: Terminal; split: boolean }) {
  const [page, sandbox, session, actions] = [usePage(), useSandbox(), useSession(), useActions()];
  const { terminals } = sandbox;
  const { id } = terminal;
  const getScreen = useCallback(
    () => screenFor({ ...page, ...sandbox, ...session, ...actions }, id),
    [page, sandbox, session, actions, id],
  );
  const container = useRef<HTMLDivElement>(null);
  const focusRequested = useSandboxState("terminals", (state) => state.focusId === id);
  const active = usePageState("layout", (state) => state.activeTerminal === id);

  useEffect(() => {
    const element = container.current;
    if (!element) return;
    const mounted = getScreen().mount(element);
    return () => mounted[Symbol.dispose]();
  }, [getScreen]);

  useEffect(() => {
    if (!focusRequested) return;
    getScreen().focus();
    terminals.focused();
  }, [getScreen, terminals, focusRequested]);

  const isTouchScreen = useIsTouchScreen();
  const requested = useSandboxState("terminals", (state) => (active ? state.requested : null));
  const [finding, setFinding] = useState(false);
  useEffect(() => {
    if (requested === null) return;
    if (requested === "clear") getScreen().clear();
    else setFinding(true);
    terminals.request(null);
  }, [getScreen, terminals, requested]);
  const endFinding = () => {
    setFinding(false);
    getScreen().focus();
  };

  return (
    <div className="terminal-view" onFocus={() => !active && page.layout.set({ activeTerminal: id })}>
      {split && <PaneHead terminal={terminal} />}
      {finding && <FindBar terminalScreen={getScreen()} onClose={endFinding} />}
      <div ref={container} className="screen" />
      {active && isTouchScreen && !terminal.exit && session.mayEdit && <TouchKeys terminalScreen={getScreen()} />}
      {terminal.exit && (
        <div className="ended" role="status">
          <span className="grow">The program has ended ({describeExit(terminal.exit)}).</span>
          {session.mayEdit && (
            <button type="button" className="button small" onClick={() => void terminals.close(id)}>
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
  const { terminals } = useSandbox();
  const { mayEdit } = useSession();
  const name = usePageState("layout", (state) => terminalName(terminal, state.terminalNames));
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
