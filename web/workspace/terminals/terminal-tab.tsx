import { SquareTerminal, X } from "lucide-react";
import { useState, type MouseEvent } from "react";
import type { Terminal } from "@berth/contract/daemon.ts";
import { usePage, usePageState, useSandbox, useSession } from "../state/context.ts";
import { lazyPart } from "../browser/lazy-part.ts";
import { IconButton } from "../parts/icon-button.tsx";
import { terminalName } from "./terminal-name.ts";
import type { Uses } from "../actions/actions.ts";

const Menu = lazyPart(async () => ({ default: (await import("../parts/menu.tsx")).Menu }));

// The tab of one terminal, or of several side by side.
export function TerminalTab({ terminals, active }: { terminals: Terminal[]; active: boolean }) {
  const deps = { ...usePage(), ...useSandbox() };
  const { mayEdit } = useSession();
  const names = usePageState("layout", (state) => state.terminalNames);
  const [menuAt, setMenuAt] = useState<{ x: number; y: number } | null>(null);
  const first = terminals[0];
  if (!first) return null;
  const title = terminals.map((terminal) => terminalName(terminal, names)).join(" | ");
  const rename = () => {
    const { activeTerminal } = deps.layout.store.getState();
    const renamed = terminals.find((terminal) => terminal.id === activeTerminal) ?? first;
    void renameTerminal(deps, renamed.id, terminalName(renamed, names));
  };
  const closeAll = () => mayEdit && terminals.forEach(({ id }) => void deps.terminals.close(id));
  const openMenu = (event: MouseEvent) => {
    event.preventDefault();
    setMenuAt({ x: event.clientX, y: event.clientY });
  };
  return (
    <div className="terminal-tab" data-active={active} role="presentation" onContextMenu={openMenu}>
      <button
        type="button"
        role="tab"
        aria-selected={active}
        onClick={() => deps.terminals.show(first.id)}
        onDoubleClick={rename}
        onKeyDown={({ key }) => (key === "F2" ? rename() : key === "Delete" && closeAll())}
      >
        <SquareTerminal size={14} />
        <span className="truncate">{title}</span>
        {terminals.length === 1 && first.exit && <ExitMark exit={first.exit} />}
      </button>
      {mayEdit && (
        <IconButton
          label={terminals.length === 1 ? `Close ${title}` : `Close all of ${title}`}
          className="close"
          tabIndex={-1}
          aria-hidden="true"
          onClick={closeAll}
        >
          <X size={13} />
        </IconButton>
      )}
      {menuAt && (
        <Menu
          label={title}
          at={menuAt}
          onClose={() => setMenuAt(null)}
          items={[
            { label: "Rename", shortcut: "F2", run: rename },
            ...(terminals.length === 1 || !mayEdit ? [] : terminals).map(({ id, title: own }) => ({
              label: `Close ${names[id] || own}`,
              run: () => deps.terminals.closePane(id),
            })),
            ...(mayEdit ? [{ label: terminals.length === 1 ? "Close" : "Close all", danger: true, run: closeAll }] : []),
          ]}
        />
      )}
    </div>
  );
}

function ExitMark({ exit }: { exit: NonNullable<Terminal["exit"]> }) {
  return <span className={exit.code === 0 ? "exit" : "exit bad"}>{describeExit(exit)}</span>;
}

export const describeExit = ({ code, signal }: NonNullable<Terminal["exit"]>): string => signal || `exit ${code ?? "?"}`;

async function renameTerminal({ dialogs, terminals }: Uses<"dialogs" | "terminals">, id: string, name: string): Promise<void> {
  const answer = await dialogs.ask({
    title: "Rename terminal",
    input: { label: "Name", value: name, error: (value) => (value.trim() === "" ? "Enter a name" : null) },
    choices: [{ id: "ok", label: "Rename", kind: "primary" }],
  });
  if (answer) terminals.rename(id, answer.value);
}
