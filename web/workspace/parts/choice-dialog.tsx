import { useEffect, useId, useLayoutEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";

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
  // Enter was pressed before the dialog was there.
  isEntered?: boolean;
  onText: (text: string) => void;
  onClose: () => void;
}

// A dialog with a text field and the choices that match it. It is a popover over a scrim, because for a modal <dialog> the browser
// computes the styles of the whole page again.
export function ChoiceDialog(props: Props) {
  const { title, field, placeholder, results, text, isEntered = false, onText, choices, note, isCurrent, onClose } = props;
  const scrim = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const listId = useId();
  const [selected, setSelected] = useState(0);
  // Enter may be pressed before the results for the typed text arrive. The choice is made when they do.
  const [entered, setEntered] = useState(isEntered);
  const currentIndex = Math.min(selected, choices.length - 1);
  const current = choices[currentIndex];

  useLayoutEffect(() => {
    const previousFocus = document.activeElement;
    scrim.current?.showPopover();
    input.current?.focus();
    return () => {
      if (previousFocus instanceof HTMLElement && input.current === document.activeElement) previousFocus.focus();
    };
  }, []);
  useEffect(() => {
    scrim.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [current?.id]);

  const choose = (choice: Choice | undefined) => {
    if (!choice) return;
    onClose();
    // The dialog first restores the focus. Then the choice may move it.
    setTimeout(choice.run);
  };
  useEffect(() => {
    if (entered && isCurrent) choose(current);
  });
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (event.key === "Enter") setEntered(true);
    else if (event.key === "Tab") onClose();
    else if (step !== undefined) setSelected((at) => Math.max(0, Math.min(choices.length - 1, at + step)));
    else return;
    event.preventDefault();
  };

  return (
    <div
      ref={scrim}
      popover="auto"
      className="scrim"
      // Before it is hidden: a shortcut that follows Escape at once opens the next dialog.
      onBeforeToggle={(event) => event.newState === "closed" && onClose()}
      onClick={(event) => event.target === scrim.current && onClose()}
      onMouseDown={(event) => event.target !== input.current && event.preventDefault()}
      // Keeps the focus from the rest of the page, as a modal dialog does.
      onBlur={({ relatedTarget }) => relatedTarget && input.current?.focus()}
    >
      <div role="dialog" aria-label={title} className="palette">
        <input
          ref={input}
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
      </div>
    </div>
  );
}
