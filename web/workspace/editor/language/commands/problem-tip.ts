import { type Diagnostic, forEachDiagnostic } from "@codemirror/lint";
import { EditorSelection, StateEffect, StateField, type Extension } from "@codemirror/state";
import { EditorView, showTooltip, type Tooltip } from "@codemirror/view";

const setTip = StateEffect.define<Tooltip | null>();
export const hideProblemTip = setTip.of(null);

// The message of the problem that a command went to, until the person does something else.
export const problemTip: Extension = StateField.define<Tooltip | null>({
  create: () => null,
  update(shown, transaction) {
    for (const effect of transaction.effects) if (effect.is(setTip)) return effect.value;
    return transaction.docChanged || transaction.selection ? null : shown;
  },
  provide: (field) => showTooltip.from(field),
});

interface Place {
  from: number;
  to: number;
  problem: Diagnostic;
}

// Goes to the next or the previous problem, from the cursor or another place. Returns false if there is none.
export function goToProblem(view: EditorView, direction: 1 | -1, { from: start = view.state.selection.main.head } = {}): boolean {
  const places: Place[] = [];
  forEachDiagnostic(view.state, (problem, from, to) => problem.severity !== "hint" && places.push({ from, to, problem }));
  const ordered = places.toSorted((a, b) => direction * (a.from - b.from));
  const target = ordered.find(({ from }) => direction * (from - start) > 0);
  if (!target) return false;
  const { from, problem } = target;
  view.dispatch({
    selection: EditorSelection.cursor(from),
    effects: [
      setTip.of({ pos: from, above: false, create: () => ({ dom: messageOf(problem) }) }),
      EditorView.scrollIntoView(from, { y: "nearest", yMargin: 80 }),
    ],
  });
  return true;
}

function messageOf({ severity, message, source }: Diagnostic): HTMLElement {
  const dom = document.createElement("div");
  dom.className = `cm-diagnostic cm-diagnostic-${severity}`;
  dom.role = "alert";
  dom.textContent = message;
  if (source !== undefined)
    dom.appendChild(Object.assign(document.createElement("div"), { className: "cm-diagnosticSource", textContent: source }));
  return dom;
}
