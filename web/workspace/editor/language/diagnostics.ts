import { type LSPClient, type LSPClientExtension, LSPPlugin } from "@codemirror/lsp-client";
import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
import { EditorSelection } from "@codemirror/state";
import { type EditorView, ViewPlugin, type ViewUpdate } from "@codemirror/view";
import type { Languages, Problem } from "../../state/sandbox/languages.ts";
import { withSource } from "./protocol/diagnostic-source.ts";
import type { ServerDiagnostic } from "./protocol/messages.ts";
import type { ServerFile, ServerFiles } from "./protocol/server-files.ts";
import { languageActions } from "./commands/actions.ts";
import { pathAt } from "./protocol/uris.ts";

export interface Diagnostics {
  extension: LSPClientExtension;
  attach(client: LSPClient): void;
  // An editor shows this file now.
  fileOpened(file: ServerFile): void;
  // Something outside the open files has changed.
  refresh(): void;
}

const SEVERITIES = ["error", "warning", "info", "hint"] as const;
const TYPING_PAUSE_MS = 300;
const UNUSED = 1;
const HINT = 4;
const MAX_PULLED = 50;

// Shows the problems that a server finds. Some servers report them by themselves; others must be asked after every change.
export function createDiagnostics({ rootUri, languages }: { rootUri: string; languages: Languages }): Diagnostics {
  let client: LSPClient | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isWaiting = false;
  // The last report of each file, for editors that open later.
  const reported = new WeakMap<ServerFile, ServerDiagnostic[]>();

  const filesOf = (owner: LSPClient) => (owner.workspace as ServerFiles).files;
  const fileAt = (owner: LSPClient, uri: string) => {
    const path = pathAt(rootUri, uri);
    return filesOf(owner).find((file) => path !== null && pathAt(rootUri, file.uri) === path);
  };

  function schedule(afterMs: number): void {
    clearTimeout(timer);
    timer = setTimeout(() => void update(), afterMs);
  }

  // A change in one file can cause a problem in another, so all open files are asked for, the visible ones first.
  async function update(): Promise<void> {
    const owner = client;
    if (!owner || isWaiting) return;
    // While the connection is lost, this takes until the next one.
    isWaiting = true;
    await owner.initializing;
    isWaiting = false;
    owner.sync();
    if (!owner.serverCapabilities?.diagnosticProvider) return;
    const files = filesOf(owner).toSorted((a, b) => Number(b.views.size > 0) - Number(a.views.size > 0));
    await Promise.all(files.slice(0, MAX_PULLED).map((file) => pull(owner, file)));
  }

  async function pull(owner: LSPClient, file: ServerFile): Promise<void> {
    const { version } = file;
    const report = await owner
      .request<object, { items?: ServerDiagnostic[] } | null>("textDocument/diagnostic", { textDocument: { uri: file.uri } })
      .catch(() => null);
    if (report?.items && version === file.version) show(file, report.items);
  }

  function show(file: ServerFile, items: ServerDiagnostic[]): void {
    reported.set(file, items);
    for (const view of file.views) {
      const plugin = LSPPlugin.get(view);
      if (!plugin) continue;
      const at = (position: ServerDiagnostic["range"]["start"]) =>
        plugin.unsyncedChanges.mapPos(plugin.fromPosition(position, plugin.syncedDoc));
      const diagnostics = items.map((item): Diagnostic => {
        const { range, severity = 1, message, source, tags } = item;
        const diagnostic = {
          from: at(range.start),
          to: Math.max(at(range.start), at(range.end)),
          severity: SEVERITIES[severity - 1] ?? "error",
          message,
          ...(source === undefined ? {} : { source }),
          ...(tags?.includes(UNUSED) ? { markClass: "cm-unused-code" } : {}),
          ...(severity !== HINT && plugin.client.serverCapabilities?.codeActionProvider ? { actions: [quickFix] } : {}),
        };
        return withSource(diagnostic, item);
      });
      view.dispatch(setDiagnostics(view.state, diagnostics));
    }
    list(file.uri, items);
  }

  function list(uri: string, items: ServerDiagnostic[]): void {
    const path = pathAt(rootUri, uri);
    if (path !== null) languages.setProblems(path, items.flatMap(problemOf));
  }

  return {
    attach: (created) => void (client = created),
    refresh: () => schedule(TYPING_PAUSE_MS),
    fileOpened(file) {
      // The editor's view is still being built.
      setTimeout(() => {
        const last = reported.get(file);
        if (last) show(file, last);
      });
      schedule(0);
    },
    extension: {
      notificationHandlers: {
        "textDocument/publishDiagnostics"(owner, published: { uri: string; version?: number; diagnostics: ServerDiagnostic[] }) {
          const file = fileAt(owner, published.uri);
          if (!file) list(published.uri, published.diagnostics);
          else if (published.version == null || published.version === file.version) show(file, published.diagnostics);
          return true;
        },
      },
      editorExtension: ViewPlugin.fromClass(
        class {
          update({ docChanged }: ViewUpdate) {
            if (docChanged) schedule(TYPING_PAUSE_MS);
          }
        },
      ),
    },
  };
}

// In the box that shows a problem.
const quickFix = {
  name: "Quick fix",
  apply(view: EditorView, from: number) {
    view.dispatch({ selection: EditorSelection.cursor(from) });
    view.state.facet(languageActions)?.run(view, "quickFix");
  },
};

// Hints are marks in the text, not problems.
function problemOf({ range, severity = 1, message, source, code }: ServerDiagnostic): Problem[] {
  const kind = SEVERITIES[severity - 1] ?? "error";
  if (kind === "hint") return [];
  const from = [source, code].filter((part) => part !== undefined).join(" ");
  return [{ severity: kind, message, source: from || null, line: range.start.line + 1, column: range.start.character + 1 }];
}
