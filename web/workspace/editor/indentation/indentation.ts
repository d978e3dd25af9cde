import { extensionOf, nameOf } from "../../text/paths.ts";

export interface Indentation {
  // The text of one level: a tab or some spaces.
  unit: string;
  // How wide a tab is shown.
  tabSize: number;
}

const DEFAULT_TAB_SIZE = 4;
const MAX_LINES = 2000;

// The indentation that a text uses, or null if nothing in it is indented.
export function detectIndentation(text: string, tabSize = DEFAULT_TAB_SIZE): Indentation | null {
  let tabs = 0;
  let spaces = 0;
  let previous = 0;
  const steps = new Map<number, number>();
  for (const line of text.split(/\r?\n/, MAX_LINES)) {
    const [, indent = "", first] = /^([ \t]*)(\S)?/.exec(line) ?? [];
    // The second line of a block comment is one space deeper than its first.
    if (first === undefined || first === "*") continue;
    if (indent.startsWith("\t")) tabs++;
    else if (indent.length > 1) spaces++;
    const step = indent.startsWith("\t") ? 0 : indent.length - previous;
    if (step > 1 && step <= 8) steps.set(step, (steps.get(step) ?? 0) + 1);
    previous = indent.startsWith("\t") ? 0 : indent.length;
  }
  if (tabs === 0 && spaces === 0) return null;
  if (tabs >= spaces) return indentWith("tab", tabSize);
  const [width] = [...steps].toSorted(([a, countA], [b, countB]) => countB - countA || a - b)[0] ?? [];
  return width === undefined ? null : indentWith(width, tabSize);
}

const TABS = new Set(["go", "mk", "mak", "tsv"]);
const FOUR_SPACES = new Set("py pyi pyw rs java kt kts c h cc cpp cxx hpp cs php swift m mm sql pl groovy gradle zig".split(" "));

// The personal settings for files that do not show how they are indented.
export interface ChosenIndentation {
  indentWith: "language" | "spaces" | "tabs";
  tabSize: number;
}

// Null if the language decides.
export function chosenIndentation({ indentWith: chosen, tabSize }: ChosenIndentation): Indentation | null {
  return chosen === "language" ? null : indentWith(chosen === "tabs" ? "tab" : tabSize, tabSize);
}

// The usual indentation of the language.
export function defaultIndentation(path: string, tabSize = DEFAULT_TAB_SIZE): Indentation {
  const extension = extensionOf(path);
  if (TABS.has(extension) || /^(GNU)?makefile(\..+)?$/i.test(nameOf(path)) || nameOf(path) === "go.mod") return indentWith("tab", tabSize);
  return indentWith(FOUR_SPACES.has(extension) ? 4 : 2, tabSize);
}

export const indentWith = (width: number | "tab", tabSize = DEFAULT_TAB_SIZE): Indentation => ({
  unit: width === "tab" ? "\t" : " ".repeat(width),
  tabSize,
});
