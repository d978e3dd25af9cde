import {
  autocompletion,
  insertCompletionText,
  pickedCompletion,
  snippet,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from "@codemirror/autocomplete";
import { LSPPlugin } from "@codemirror/lsp-client";
import { EditorState, type ChangeDesc, type ChangeSpec, type Extension, type Text } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import type { CompletionItem, CompletionList, TextEdit } from "./protocol/messages.ts";

// The server's completions. The library's own source never asks the server for the changes that belong to an accepted
// completion, so it adds no imports.
export const serverCompletion = (): Extension => [autocompletion(), EditorState.languageData.of(() => sources)];

const sources = [{ autocomplete: complete }];

// Letters that can follow without asking the server again.
const SAME_WORD = /^[$#@]?[\w$]*$/;
const SNIPPET = 2;

async function complete(context: CompletionContext): Promise<CompletionResult | null> {
  const plugin = context.view ? LSPPlugin.get(context.view) : null;
  const asked = plugin && triggerOf(plugin, context);
  if (!plugin || !asked) return null;
  const { serverCapabilities } = plugin.client;
  if (serverCapabilities && !serverCapabilities.completionProvider) return null;
  plugin.client.sync();
  const params = { position: plugin.toPosition(context.pos), textDocument: { uri: plugin.uri }, context: asked };
  context.addEventListener("abort", () => plugin.client.cancelRequest(params));
  const answer = await plugin.client.request<typeof params, CompletionList | CompletionItem[] | null>("textDocument/completion", params);
  if (!answer) return null;
  const list = Array.isArray(answer) ? { items: answer } : answer;
  // An empty list would stay valid for the next letters, and TypeScript has one for the space before a name.
  if (list.items.length === 0) return null;
  const { doc } = context.state;
  const options = (since: ChangeDesc | null) => list.items.map((item) => optionOf(plugin, list, item, { doc, since }));
  return tracked({ ...rangeOf(context, list), options: options(null), ...(list.isIncomplete ? {} : { validFor: SAME_WORD }) });

  // The changes of an item refer to the text that the server was asked about.
  function tracked(result: CompletionResult, since: ChangeDesc | null = null): CompletionResult {
    if (!list.items.some(({ additionalTextEdits }) => additionalTextEdits)) return result;
    return {
      ...result,
      map(now, changes) {
        const all = since ? since.composeDesc(changes) : changes;
        return tracked({ ...now, options: options(all) }, all);
      },
    };
  }
}

function triggerOf({ client }: LSPPlugin, { state, pos, explicit }: CompletionContext): object | null {
  const before = state.sliceDoc(pos - 1, pos);
  if (!explicit && client.serverCapabilities?.completionProvider?.triggerCharacters?.includes(before))
    return { triggerKind: 2, triggerCharacter: before };
  return explicit || /[a-zA-Z_$]/.test(before) ? { triggerKind: 1 } : null;
}

// The text that a completion replaces.
function rangeOf({ state, pos }: CompletionContext, { items, itemDefaults }: CompletionList): { from: number; to?: number } {
  const edited = itemDefaults?.editRange ?? items[0]?.textEdit;
  const range = edited && ("insert" in edited ? edited.insert : "range" in edited ? edited.range : edited);
  const word = state.wordAt(pos);
  const line = state.doc.lineAt(pos);
  if (!range) return word ? { from: word.from, to: word.to } : { from: pos };
  return { from: line.from + range.start.character, to: line.from + range.end.character };
}

// The text at the time of the request, and the changes since then.
interface Asked {
  doc: Text;
  since: ChangeDesc | null;
}

function optionOf(plugin: LSPPlugin, { itemDefaults }: CompletionList, item: CompletionItem, asked: Asked): Completion {
  const { label, labelDetails, detail, kind, sortText, documentation, filterText } = item;
  const text = item.textEdit?.newText ?? item.textEditText ?? item.insertText ?? label;
  const isSnippet = (item.insertTextFormat ?? itemDefaults?.insertTextFormat) === SNIPPET;
  const place = detail ?? labelDetails?.description;
  const type = kind === undefined ? undefined : TYPES[kind];
  const commitCharacters = item.commitCharacters ?? itemDefaults?.commitCharacters;
  return {
    label: filterText ?? label,
    displayLabel: label,
    ...(type === undefined ? {} : { type }),
    ...(place === undefined ? {} : { detail: place }),
    ...(sortText === undefined ? {} : { sortText }),
    ...(commitCharacters === undefined ? {} : { commitCharacters }),
    ...(documentation === undefined ? {} : { info: () => describe(plugin, documentation) }),
    apply(view, completion, from, to) {
      // Asked before the text changes, because the server's answer refers to the text that it has. If it fails, the name is still
      // there, and the quick fix of its problem adds the import.
      if (!item.additionalTextEdits) void resolve(view, item).catch(() => {});
      const changes = changesOf(item.additionalTextEdits ?? [], asked.doc, (at) => asked.since?.mapPos(at, 1) ?? at);
      const picked = pickedCompletion.of(completion);
      if (!isSnippet) return view.dispatch(insertCompletionText(view.state, text, from, to), { changes, annotations: picked });
      // The changes are elsewhere, so the snippet's place moves with them.
      if (changes.length > 0) view.dispatch({ changes, userEvent: "input.complete" });
      const moved = view.state.selection.main.head - to;
      snippet(asSnippet(text))(view, completion, from + moved, to + moved);
    },
  };
}

// Asks the server for the changes that belong to an accepted completion, and makes them when they arrive.
async function resolve(view: EditorView, item: CompletionItem): Promise<void> {
  const plugin = LSPPlugin.get(view);
  if (!plugin?.client.serverCapabilities?.completionProvider?.resolveProvider) return;
  const { client, uri } = plugin;
  client.sync();
  await client.withMapping(async (mapping) => {
    const doc = view.state.doc;
    const { additionalTextEdits = [] } =
      (await client.request<CompletionItem, CompletionItem | null>("completionItem/resolve", item)) ?? {};
    const changes = changesOf(additionalTextEdits, doc, (at) => mapping.mapPos(uri, at, 1));
    if (changes.length > 0 && view.dom.isConnected) view.dispatch({ changes, userEvent: "input.complete" });
  });
}

function changesOf(edits: readonly TextEdit[], doc: Text, mapped: (offset: number) => number): ChangeSpec[] {
  const offset = ({ line, character }: TextEdit["range"]["start"]) => {
    if (line >= doc.lines) return doc.length;
    const at = doc.line(line + 1);
    return Math.min(at.from + character, at.to);
  };
  return edits.map(({ range: { start, end }, newText }) => {
    const from = mapped(offset(start));
    return { from, to: Math.max(from, mapped(offset(end))), insert: newText };
  });
}

function describe(plugin: LSPPlugin, documentation: NonNullable<CompletionItem["documentation"]>): HTMLElement {
  const element = document.createElement("div");
  element.className = "cm-lsp-documentation cm-lsp-completion-documentation";
  element.innerHTML = plugin.docToHTML(documentation);
  return element;
}

// CodeMirror's snippets write `$1` as `${1}` and have no escapes.
const asSnippet = (text: string): string =>
  text.replaceAll(/\\([$}\\])|\$(\d+)/g, (_all, escaped?: string, field?: string) => escaped ?? `\${${field}}`);

// The icons of the server's kinds.
const TYPES: Record<number, string> = {
  1: "text",
  2: "method",
  3: "function",
  4: "class",
  5: "property",
  6: "variable",
  7: "class",
  8: "interface",
  9: "namespace",
  10: "property",
  11: "keyword",
  12: "constant",
  13: "constant",
  14: "keyword",
  16: "constant",
  20: "constant",
  21: "constant",
  22: "class",
  25: "type",
};
