import { useEffect, useState, type ReactNode } from "react";
import { useWorkspace } from "../state/context.ts";
import { FileIcon } from "../parts/file-icon.tsx";
import { nameOf, parentOf } from "../text/paths.ts";
import { openFile } from "../state/actions.ts";
import { openTabs } from "../state/page/editor-groups.ts";
import type { Command } from "./command.ts";
import { fuzzyFilter } from "./fuzzy.ts";
import { formatShortcut } from "../browser/shortcuts.ts";

export interface PaletteChoice {
  id: string;
  content: ReactNode;
  run: () => void;
}

export interface Choices {
  choices: PaletteChoice[];
  note: string | null;
  // Whether the choices belong to the current text, not to an earlier one.
  isCurrent: boolean;
}

export function useChoices(text: string, commands: Command[]): Choices {
  const asCommands = text.startsWith(">");
  const files = useFoundFiles(asCommands ? null : text.trim());
  if (asCommands) return commandChoices(text.slice(1), commands);
  return files;
}

function commandChoices(query: string, commands: Command[]): Choices {
  const named = commands.filter(({ title }) => title !== "");
  const choices = fuzzyFilter(named, query, ({ title }) => title).map(({ id, title, shortcut, run }) => ({
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

// The daemon finds the files. An empty query lists the open tabs first.
function useFoundFiles(query: string | null): Choices {
  const workspace = useWorkspace();
  const [found, setFound] = useState<{ query: string; paths: string[] } | null>(null);
  const [failed, setFailed] = useState(false);

  useEffect(() => {
    if (query === null) return;
    let cancelled = false;
    const timer = setTimeout(() => {
      workspace.api.findFiles(query).then(
        ({ paths: matches }) => {
          if (cancelled) return;
          setFound({ query, paths: matches });
          setFailed(false);
        },
        () => !cancelled && setFailed(true),
      );
    }, 60);
    return () => {
      cancelled = true;
      clearTimeout(timer);
    };
  }, [query, workspace]);

  const openPaths = openTabs(workspace.layout.store.getState()).flatMap((tab) => (tab.kind === "file" ? [tab.path] : []));
  const paths = query === "" ? [...new Set([...openPaths, ...(found?.paths ?? [])])] : (found?.paths ?? []);
  const answered = found?.query === query;
  return {
    choices: query === null ? [] : paths.slice(0, 50).map((path) => fileChoice(path, () => openFile(workspace, path))),
    note: failed ? "Files could not be searched. Check your connection" : answered && paths.length === 0 ? "No matching files" : null,
    isCurrent: answered || query === "",
  };
}

const fileChoice = (path: string, run: () => void): PaletteChoice => ({
  id: path,
  run,
  content: (
    <>
      <FileIcon path={path} />
      <span className="name truncate">{nameOf(path)}</span>
      <span className="where truncate">{parentOf(path)}</span>
    </>
  ),
});
