import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import type { Command } from "./commands/command.ts";
import type { PaletteChoice } from "./choices.ts";
import { parseInput } from "./parse-input.ts";
import { useChoices } from "./use-choices.tsx";
import type { PaletteMode } from "../state/page/palette.ts";

export function PaletteDialog({ commands }: { commands: Command[] }) {
  const mode = useWorkspaceState("palette", (state) => state.mode);
  return mode && <OpenPalette key={mode} mode={mode} commands={commands} />;
}

const prefixes: Record<PaletteMode, string> = { files: "", commands: ">", line: ":", symbols: "@" };
const names = {
  files: { dialog: "Go to file", field: "File name" },
  commands: { dialog: "Commands", field: "Command" },
  line: { dialog: "Go to line", field: "Line" },
  symbols: { dialog: "Go to symbol", field: "Symbol" },
};

// A text field and the matching files. Its first character can choose commands, lines or symbols instead.
function OpenPalette({ mode, commands }: { mode: PaletteMode; commands: Command[] }) {
  const { palette } = useWorkspace();
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState(prefixes[mode]);
  const [selected, setSelected] = useState(0);
  // Enter may be pressed before the results for the typed text arrive. The choice is made when they do.
  const [entered, setEntered] = useState(false);
  const { choices, note, isCurrent } = useChoices(text, commands);
  const named = names[parseInput(text).kind];
  const current = choices[Math.min(selected, choices.length - 1)];

  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    dialog.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  });

  const choose = (choice: PaletteChoice | undefined) => {
    if (!choice) return;
    palette.close();
    // While the dialog is open, nothing else can take the focus.
    setTimeout(choice.run);
  };
  useEffect(() => {
    if (entered && isCurrent) choose(current);
  });
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (event.key === "Enter") setEntered(true);
    else if (step !== undefined) setSelected((at) => Math.max(0, Math.min(choices.length - 1, at + step)));
    else return;
    event.preventDefault();
  };

  return (
    <dialog
      ref={dialog}
      className="palette"
      aria-label={named.dialog}
      onClose={palette.close}
      onClick={(event) => event.target === dialog.current && palette.close()}
    >
      <input
        autoFocus
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={current ? `choice-${current.id}` : undefined}
        aria-label={named.field}
        placeholder="File name, > for commands, : for a line, @ for symbols"
        spellCheck={false}
        value={text}
        onKeyDown={onKeyDown}
        onChange={(event) => {
          setText(event.target.value);
          setSelected(0);
          setEntered(false);
        }}
      />
      {note && <div className="note">{note}</div>}
      <ul id="palette-list" role="listbox" aria-label="Results" hidden={choices.length === 0}>
        {choices.map((choice) => (
          <li key={choice.id} id={`choice-${choice.id}`} role="option" aria-selected={choice === current} onClick={() => choose(choice)}>
            {choice.content}
          </li>
        ))}
      </ul>
    </dialog>
  );
}
