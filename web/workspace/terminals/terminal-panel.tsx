import { Columns2, Plus, SquareTerminal, X } from "lucide-react";
import { lazy, Suspense } from "react";
import type { Terminal } from "@berth/contract/daemon.ts";
import { usePageState, useSandbox, useSandboxState, useSession } from "../state/context.ts";
import { useActions } from "../actions/actions.ts";
import { afterFirstText } from "../browser/first-text.ts";
import { IconButton } from "../parts/icon-button.tsx";
import { loadModule } from "../browser/load-module.ts";
import { useTabStrip } from "../parts/use-tab-strip.ts";
import { TerminalTab } from "./terminal-tab.tsx";

// The terminal is as heavy as the editor but less urgent, so it loads second.
const TerminalView = lazy(async () => {
  await afterFirstText();
  return loadModule(() => import("./terminal-view.tsx"));
});

export function TerminalPanel() {
  const { terminals } = useSandbox();
  const { mayEdit } = useSession();
  const { toggleTerminals } = useActions();
  const list = useSandboxState("terminals", (state) => state.list);
  const groups = usePageState("layout", (state) => state.terminalGroups);
  const active = usePageState("layout", (state) => state.activeTerminal);
  const strip = useTabStrip(active);
  const known = new Map(list?.map((terminal) => [terminal.id, terminal]) ?? []);
  return (
    <section className="terminal-panel" aria-label="Terminals">
      <div className="terminal-tabs">
        <div {...strip} className="tab-list" role="tablist" aria-label="Terminals">
          {groups.map((group) => (
            <TerminalTab key={group[0]} terminals={group.flatMap((id) => known.get(id) ?? [])} active={group.includes(active ?? "")} />
          ))}
        </div>
        {mayEdit && (
          <>
            <IconButton label="New terminal" onClick={() => void terminals.create()}>
              <Plus size={16} />
            </IconButton>
            <IconButton label="Split terminal" disabled={active === null} onClick={() => void terminals.split()}>
              <Columns2 size={15} />
            </IconButton>
          </>
        )}
        <IconButton label="Hide terminals" onClick={() => toggleTerminals()}>
          <X size={15} />
        </IconButton>
      </div>
      {list?.length === 0 && <NoTerminals />}
      <Suspense fallback={<div className="loading-center" />}>
        {groups.map((group) => (
          <Group key={group[0]} terminals={group.flatMap((id) => known.get(id) ?? [])} shown={group.includes(active ?? "")} />
        ))}
      </Suspense>
    </section>
  );
}

function Group({ terminals, shown }: { terminals: Terminal[]; shown: boolean }) {
  return (
    <div className="terminal-group" hidden={!shown}>
      {shown && terminals.map((terminal) => <TerminalView key={terminal.id} terminal={terminal} split={terminals.length > 1} />)}
    </div>
  );
}

function NoTerminals() {
  const { terminals } = useSandbox();
  const { mayEdit } = useSession();
  return (
    <div className="empty">
      <SquareTerminal size={26} strokeWidth={1.4} />
      <p>No open terminals.</p>
      {mayEdit && (
        <button type="button" className="button" onClick={() => void terminals.create()}>
          New terminal
        </button>
      )}
    </div>
  );
}
