import { useEffect, useMemo, useState } from "react";
import { formatShortcut } from "../browser/shortcuts.ts";
import type { Choices } from "../parts/choice-dialog.tsx";
import { usePage } from "../state/context.ts";
import type { DocumentSymbol, TextEditorHandle } from "../state/tabs/active-editor.ts";
import type { TextLocation } from "../state/tabs/cursor.ts";
import type { Command } from "./commands/command.ts";
import { fuzzyFilter } from "./fuzzy.ts";
import { parseInput } from "./parse-input.ts";
import { useFoundFiles } from "./use-found-files.tsx";

export function useChoices(text: string, commands: Command[]): Choices {
  const { activeEditor } = usePage();
  const input = useMemo(() => parseInput(text), [text]);
  const editor = activeEditor.current();
  const files = useFoundFiles(input.kind === "files" ? input : null);
  const symbols = useSymbols(input.kind === "symbols" ? editor : null);
  if (input.kind === "commands") return commandChoices(input.query, commands);
  if (input.kind === "files") return files;
  if (editor === null) return { choices: [], note: "Open a text file first", isCurrent: true };
  if (input.kind === "line") return lineChoices(editor, input.location);
  return symbolChoices(editor, symbols, input.query);
}

function commandChoices(query: string, commands: Command[]): Choices {
  const offered = commands.filter(({ title, isAvailable }) => title !== "" && isAvailable?.() !== false);
  const choices = fuzzyFilter(offered, query, ({ title }) => title).map(({ id, title, shortcut, run }) => ({
    id,
    run,
    content: (
      <>
        {title}
        {shortcut && <kbd>{formatShortcut(shortcut)}</kbd>}
      </>
    ),
  }));
  return { choices, note: choices.length === 0 ? "No matching commands" : null, isCurrent: true };
}

function lineChoices(editor: TextEditorHandle, target: TextLocation | null): Choices {
  const hint = `Type a line between 1 and ${editor.lines}, and a column after a colon`;
  if (target === null) return { choices: [], note: hint, isCurrent: true };
  const line = Math.min(target.line, editor.lines);
  const content = `Go to line ${line}${target.column > 1 ? `, column ${target.column}` : ""}`;
  return { choices: [{ id: "line", content, run: () => editor.goTo({ ...target, line }) }], note: null, isCurrent: true };
}

function useSymbols(editor: TextEditorHandle | null): DocumentSymbol[] | null {
  const [symbols, setSymbols] = useState<DocumentSymbol[] | null>(null);
  useEffect(() => {
    if (editor === null) return;
    let cancelled = false;
    editor.symbols().then(
      (found) => !cancelled && setSymbols(found),
      () => !cancelled && setSymbols([]),
    );
    return () => {
      cancelled = true;
    };
  }, [editor]);
  return symbols;
}

const MAX_SYMBOLS = 200;

function symbolChoices(editor: TextEditorHandle, symbols: DocumentSymbol[] | null, query: string): Choices {
  if (symbols === null) return { choices: [], note: "Looking for symbols…", isCurrent: false };
  const choices = fuzzyFilter(symbols, query, ({ name }) => name)
    .slice(0, MAX_SYMBOLS)
    .map((symbol) => ({
      id: `${symbol.line}-${symbol.column}`,
      // Without a selection, so that typing does not replace the name.
      run: () => editor.goTo({ line: symbol.line, column: symbol.column }),
      content: (
        <>
          <span className="name truncate" style={query === "" ? { paddingLeft: symbol.depth * 14 } : undefined}>
            {symbol.name}
          </span>
          <span className="where truncate">{symbol.kind}</span>
          <span className="line">{symbol.line}</span>
        </>
      ),
    }));
  const none = symbols.length === 0 ? "No symbols were found in this file" : "No matching symbols";
  return { choices, note: choices.length === 0 ? none : null, isCurrent: true };
}
