import "../styles/dialogs.css";
import type { Command } from "../palette/commands/command.ts";
import { PaletteDialog } from "../palette/palette-dialog.tsx";
import { PickerDialog } from "../palette/picker-dialog.tsx";
import { useEffect, useRef, useState, type FormEvent } from "react";
import { usePageState } from "../state/context.ts";
import type { Answer, Question } from "../state/page/dialogs.ts";

export default function OpenDialogs({ commands }: { commands: Command[] }) {
  return (
    <>
      <PaletteDialog commands={commands} />
      <PickerDialog />
      <QuestionDialog />
    </>
  );
}

function QuestionDialog() {
  const question = usePageState("dialogs", (state) => state.question);
  const resolve = usePageState("dialogs", (state) => state.resolve);
  return question && <OpenDialog key={question.title} question={question} resolve={resolve} />;
}

function OpenDialog({ question, resolve }: { question: Question; resolve: (answer: Answer) => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [value, setValue] = useState(question.input?.value ?? "");
  const [submitted, setSubmitted] = useState(false);
  const error = question.input?.error(value) ?? null;
  const primary = question.choices.at(-1)?.id ?? "";

  useEffect(() => {
    dialog.current?.showModal();
    const input = dialog.current?.querySelector("input");
    input?.setSelectionRange(...selectionIn(input.value));
  }, []);

  const choose = (choice: string) => {
    setSubmitted(true);
    if (error === null) resolve({ choice, value });
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    choose(primary);
  };

  return (
    <dialog ref={dialog} className="question" aria-labelledby="question-title" onClose={() => resolve(null)}>
      <form onSubmit={submit}>
        <h2 id="question-title">{question.title}</h2>
        {question.text && <p>{question.text}</p>}
        {question.input && (
          <label>
            {question.input.label}
            <input
              className="field"
              autoFocus
              spellCheck={false}
              value={value}
              aria-invalid={submitted && error !== null}
              onChange={(event) => setValue(event.target.value)}
            />
            <div className="fault" role="alert">
              {submitted && error}
            </div>
          </label>
        )}
        <div className="row">
          <button type="button" className="button" onClick={() => resolve(null)}>
            Cancel
          </button>
          {question.choices.map(({ id, label, kind }) => (
            <button
              key={id}
              type={id === primary ? "submit" : "button"}
              className={`button ${kind ?? ""}`}
              onClick={id === primary ? undefined : () => choose(id)}
            >
              {label}
            </button>
          ))}
        </div>
      </form>
    </dialog>
  );
}

// A name without its extension, so that typing renames the file and keeps its type, or the place of a missing email address.
function selectionIn(value: string): [start: number, end: number] {
  if (value.endsWith("<>")) return [value.length - 1, value.length - 1];
  const dot = value.lastIndexOf(".");
  return [0, dot > 0 ? dot : value.length];
}
