import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import type { Command } from "./command.ts";
import { useChoices, type PaletteChoice } from "./use-choices.tsx";
import type { PaletteMode } from "../state/page/palette.ts";

export function PaletteDialog({ commands }: { commands: Command[] }) {
  const mode = useWorkspaceState("palette", (state) => state.mode);
  return mode && <OpenPalette key={mode} mode={mode} commands={commands} />;
}

// A text field and the matching files. Text that starts with ">" matches commands instead.
function OpenPalette({ mode, commands }: { mode: PaletteMode; commands: Command[] }) {
  const { palette } = useWorkspace();
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState(mode === "commands" ? ">" : "");
  const [selected, setSelected] = useState(0);
  // Enter may be pressed before the results for the typed text arrive. The choice is made when they do.
  const [entered, setEntered] = useState(false);
  const { choices, note, isCurrent } = useChoices(text, commands);
  const current = choices[Math.min(selected, choices.length - 1)];

  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    dialog.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  });

  const choose = (choice: PaletteChoice | undefined) => {
    if (!choice) return;
    palette.close();
    choice.run();
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
      aria-label={text.startsWith(">") ? "Commands" : "Go to file"}
      onClose={palette.close}
      onClick={(event) => event.target === dialog.current && palette.close()}
    >
      <input
        autoFocus
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={current ? `choice-${current.id}` : undefined}
        aria-label={text.startsWith(">") ? "Command" : "File name"}
        placeholder="File name, or > for commands"
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
