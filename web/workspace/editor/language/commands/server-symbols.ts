import type { EditorView } from "@codemirror/view";
import type { DocumentSymbol } from "../../../state/tabs/active-editor.ts";
import type { DocumentSymbol as ServerSymbol, SymbolInformation } from "../protocol/messages.ts";
import { ask, offers } from "../protocol/request.ts";

// The names of the kinds in the protocol, which count from 1.
const KINDS =
  "file module namespace package class method property field constructor enum interface function variable constant string number boolean array object key null member struct event operator type".split(
    " ",
  );
const MAX_SYMBOLS = 5000;

// The outline that the server sees; null if it has none.
export async function serverSymbols(view: EditorView): Promise<DocumentSymbol[] | null> {
  if (!offers(view, "documentSymbolProvider")) return null;
  const found = await ask<(ServerSymbol | SymbolInformation)[]>(view, "textDocument/documentSymbol").catch(() => null);
  return found && found.flatMap((each) => flatten(each, 0)).slice(0, MAX_SYMBOLS);
}

function flatten(symbol: ServerSymbol | SymbolInformation, depth: number): DocumentSymbol[] {
  const { start } = "location" in symbol ? symbol.location.range : symbol.selectionRange;
  const kind = KINDS[symbol.kind - 1] ?? "";
  const own = { name: symbol.name, kind, depth, line: start.line + 1, column: start.character + 1 };
  return [own, ...("children" in symbol ? (symbol.children ?? []).flatMap((child) => flatten(child, depth + 1)) : [])];
}
