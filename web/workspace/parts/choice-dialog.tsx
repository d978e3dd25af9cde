import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactNode } from "react";

export interface Choice {
  id: string;
  content: ReactNode;
  run: () => void;
}

export interface Choices {
  choices: Choice[];
  note: string | null;
  // Whether the choices belong to the current text, not to an earlier one.
  isCurrent: boolean;
}

interface Props extends Choices {
  title: string;
  field: string;
  placeholder: string;
  results: string;
  text: string;
  onText: (text: string) => void;
  onClose: () => void;
}

// A dialog with a text field and the choices that match it.
export function ChoiceDialog({ title, field, placeholder, results, text, onText, choices, note, isCurrent, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const listId = useId();
  const [selected, setSelected] = useState(0);
  // Enter may be pressed before the results for the typed text arrive. The choice is made when they do.
  const [entered, setEntered] = useState(false);
  const currentIndex = Math.min(selected, choices.length - 1);
  const current = choices[currentIndex];

  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    dialog.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [current?.id]);

  const choose = (choice: Choice | undefined) => {
    if (!choice) return;
    onClose();
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
      aria-label={title}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <input
        autoFocus
        role="combobox"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={current && `${listId}-${currentIndex}`}
        aria-label={field}
        placeholder={placeholder}
        spellCheck={false}
        value={text}
        onKeyDown={onKeyDown}
        onChange={(event) => {
          onText(event.target.value);
          setSelected(0);
          setEntered(false);
        }}
      />
      {note && <div className="note">{note}</div>}
      <ul id={listId} role="listbox" aria-label={results} hidden={choices.length === 0}>
        {choices.map((choice, index) => (
          <li key={choice.id} id={`${listId}-${index}`} role="option" aria-selected={choice === current} onClick={() => choose(choice)}>
            {choice.content}
          </li>
        ))}
      </ul>
    </dialog>
  );
}
