import { forEachDiagnostic } from "@codemirror/lint";
import { LSPPlugin } from "@codemirror/lsp-client";
import type { EditorView } from "@codemirror/view";
import type { CodeAction, Command, ServerDiagnostic } from "../protocol/messages.ts";
import { serverDiagnosticOf } from "../protocol/diagnostic-source.ts";
import { ask, offers, positionAt } from "../protocol/request.ts";
import type { NavigationDeps } from "./navigation.ts";
import { applyWorkspaceEdit } from "./workspace-edit.ts";

// Lets the person choose one of the changes that the server offers for the selection and the problems in it.
export async function showCodeActions(deps: NavigationDeps, view: EditorView): Promise<void> {
  const { notices, picker } = deps;
  if (!offers(view, "codeActionProvider")) return notices.info("The language server of this file offers no quick fixes");
  const { from, to } = view.state.selection.main;
  const actions = await request(view, { from, to });
  if (actions.length === 0) return notices.info("There is no quick fix here");
  const items = actions.map((action, i) => ({
    id: String(i),
    label: action.title,
    ...(action.isPreferred ? { detail: "preferred" } : {}),
    run: () => {
      view.focus();
      void attempt(deps, view, action);
    },
  }));
  picker.open({ title: "Quick fixes", placeholder: "Choose a change", items });
}

export async function organizeImports(deps: NavigationDeps, view: EditorView): Promise<void> {
  const { notices } = deps;
  if (!offers(view, "codeActionProvider")) return notices.info("The language server of this file cannot organize imports");
  const [action] = await request(view, { from: 0, to: view.state.doc.length, only: ["source.organizeImports"] });
  if (action) await apply(deps, view, action);
  else notices.info("There are no imports to organize");
}

// Whether the server can fix a problem on the line of the cursor.
export async function hasQuickFix(view: EditorView): Promise<boolean> {
  const { head } = view.state.selection.main;
  if (!offers(view, "codeActionProvider") || diagnosticsIn(view, head, head).length === 0) return false;
  const actions = await request(view, { from: head, to: head, isAutomatic: true });
  // Some servers do not name the kind.
  return actions.some(({ kind }) => kind === undefined || kind.startsWith("quickfix"));
}

interface Asked {
  from: number;
  to: number;
  only?: string[];
  // Whether the editor asked for it, not the person.
  isAutomatic?: boolean;
}

// The best changes first.
async function request(view: EditorView, { from, to, only, isAutomatic = false }: Asked): Promise<CodeAction[]> {
  const range = { start: positionAt(view, from), end: positionAt(view, to) };
  const diagnostics = only ? [] : diagnosticsIn(view, from, to);
  const context = { diagnostics, triggerKind: isAutomatic ? 2 : 1, ...(only ? { only } : {}) };
  const found = (await ask<(CodeAction | Command)[]>(view, "textDocument/codeAction", { range, context })) ?? [];
  return found
    .map((each) => (typeof each.command === "string" ? { title: each.title, command: each as Command } : (each as CodeAction)))
    .filter(({ disabled }) => disabled === undefined)
    .toSorted((a, b) => Number(b.isPreferred ?? false) - Number(a.isPreferred ?? false));
}

function diagnosticsIn(view: EditorView, from: number, to: number): ServerDiagnostic[] {
  const found: ServerDiagnostic[] = [];
  const line = view.state.doc.lineAt(from);
  const isEmpty = from === to;
  forEachDiagnostic(view.state, (diagnostic, start, end) => {
    const source = serverDiagnosticOf(diagnostic);
    const touches = isEmpty ? start <= line.to && end >= line.from : start <= to && end >= from;
    if (source && touches) found.push({ ...source, range: { start: positionAt(view, start), end: positionAt(view, end) } });
  });
  return found;
}

async function attempt(deps: NavigationDeps, view: EditorView, action: CodeAction): Promise<void> {
  await deps.notices.attempt(`Could not apply "${action.title}"`, () => apply(deps, view, action));
}

async function apply(deps: NavigationDeps, view: EditorView, action: CodeAction): Promise<void> {
  const client = LSPPlugin.get(view)?.client;
  const provider = client?.serverCapabilities?.codeActionProvider;
  const isComplete = action.edit !== undefined || action.command !== undefined;
  const canResolve = typeof provider === "object" && provider.resolveProvider === true;
  const full = !isComplete && canResolve && client ? await client.request<CodeAction, CodeAction>("codeAction/resolve", action) : action;
  if (full.edit) await applyWorkspaceEdit(deps, deps.rootUri, full.edit);
  if (full.command) await client?.request("workspace/executeCommand", { command: full.command.command, arguments: full.command.arguments });
}
