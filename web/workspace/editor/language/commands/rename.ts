import { StateEffect, StateField, type Extension } from "@codemirror/state";
import { type EditorView, showTooltip, type Tooltip } from "@codemirror/view";
import { describeError } from "../../../state/page/notices.ts";
import type { NavigationDeps } from "./navigation.ts";
import { hideProblemTip } from "./problem-tip.ts";
import type { Range, WorkspaceEdit } from "../protocol/messages.ts";
import { ask, checksRenames, offers, positionAt } from "../protocol/request.ts";
import { applyWorkspaceEdit } from "./workspace-edit.ts";

const setField = StateEffect.define<Tooltip | null>();

// The field for the new name, at the old one.
export const renameField: Extension = StateField.define<Tooltip | null>({
  create: () => null,
  update(shown, transaction) {
    for (const effect of transaction.effects) if (effect.is(setField)) return effect.value;
    return transaction.docChanged ? null : shown;
  },
  provide: (field) => showTooltip.from(field),
});

export async function renameSymbol(deps: NavigationDeps, view: EditorView): Promise<void> {
  const { notices } = deps;
  const { head } = view.state.selection.main;
  const word = view.state.wordAt(head);
  if (!offers(view, "renameProvider")) return notices.info("The language server of this file cannot rename");
  const refuse = () => notices.info("There is no name at the cursor that can be changed");
  if (!word) return refuse();
  // The answer is a range, with or without a placeholder, or says that the default applies.
  const allowed = checksRenames(view)
    ? await ask<{ range?: Range } & Partial<Range>>(view, "textDocument/prepareRename", { position: positionAt(view, head) }).catch(
        () => null,
      )
    : {};
  if (allowed === null) return refuse();
  const before = view.state.sliceDoc(word.from, word.to);
  let isOpen = true;
  const dismiss = () => {
    if (!isOpen) return;
    isOpen = false;
    view.dispatch({ effects: setField.of(null) });
    view.focus();
  };
  const submit = (name: string) => {
    dismiss();
    if (name !== "" && name !== before) void rename(deps, view, word.from, name);
  };
  const create = () => ({ dom: nameField(before, submit, dismiss), mount: () => focusField(view) });
  view.dispatch({ effects: [hideProblemTip, setField.of({ pos: word.from, above: false, arrow: false, create })] });
}

async function rename(deps: NavigationDeps, view: EditorView, offset: number, newName: string): Promise<void> {
  const { notices, rootUri } = deps;
  try {
    const edit = await ask<WorkspaceEdit>(view, "textDocument/rename", { position: positionAt(view, offset), newName });
    const count = edit ? await applyWorkspaceEdit(deps, rootUri, edit) : 0;
    if (count === 0) notices.info("Nothing was renamed");
    else if (count > 1) notices.info(`Renamed in ${count} files`);
  } catch (error) {
    notices.error(`Could not rename to ${newName}: ${describeError(error)}`);
  }
}

function nameField(value: string, submit: (name: string) => void, dismiss: () => void): HTMLElement {
  const dom = document.createElement("form");
  dom.className = "cm-rename";
  const field = dom.appendChild(document.createElement("input"));
  field.value = value;
  field.ariaLabel = "New name";
  field.spellcheck = false;
  field.size = Math.max(16, value.length + 4);
  dom.addEventListener("submit", (event) => {
    event.preventDefault();
    submit(field.value.trim());
  });
  dom.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") dismiss();
  });
  // Deferred, because the field also loses the focus while the editor removes it.
  field.addEventListener("blur", () => setTimeout(dismiss));
  return dom;
}

function focusField(view: EditorView): void {
  const field = view.dom.querySelector<HTMLInputElement>(".cm-rename input");
  field?.focus();
  field?.select();
}
