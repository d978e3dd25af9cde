import { useEffect, useState, type ReactNode } from "react";
import { useWorkspace } from "../state/context.ts";
import { FileIcon } from "../parts/file-icon.tsx";
import { nameOf, parentOf } from "../text/paths.ts";
import { openFile } from "../state/actions.ts";
import type { Command } from "./commands.ts";
import { fuzzyFilter } from "../text/fuzzy.ts";
import { isMac, showKeys } from "../browser/shortcuts.ts";

export interface PaletteChoice {
  id: string;
  content: ReactNode;
  run: () => void;
}

export interface Choices {
  choices: PaletteChoice[];
  note: string | null;
  // These are for the text as it is now, not for what stood there a moment ago.
  current: boolean;
}

export function useChoices(text: string, commands: Command[]): Choices {
  const asCommands = text.startsWith(">");
  const files = useFoundFiles(asCommands ? null : text.trim());
  if (asCommands) return commandChoices(text.slice(1), commands);
  return files;
}

function commandChoices(query: string, commands: Command[]): Choices {
  const named = commands.filter(({ title }) => title !== "");
  const choices = fuzzyFilter(named, query, ({ title }) => title).map(({ id, title, keys, run }) => ({
    id,
    run,
    content: (
      <>
        {title}
        {keys && <kbd>{showKeys(keys, isMac())}</kbd>}
      </>
    ),
  }));
  return { choices, note: choices.length === 0 ? "No command is called that" : null, current: true };
}

// Asks the daemon, which knows all files. Before anything is typed, the open tabs are offered.
function useFoundFiles(query: string | null): Choices {
  const workspace = useWorkspace();
  const [found, setFound] = useState<{ query: string; paths: string[] } | null>(null);
  const [failed, setFailed] = useState(false);

  useEffect(() => {
    if (query === null) return;
    let current = true;
    const timer = setTimeout(() => {
      workspace.api.findFiles(query).then(
        ({ paths }) => {
          if (!current) return;
          setFound({ query, paths });
          setFailed(false);
        },
        () => current && setFailed(true),
      );
    }, 60);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [query, workspace]);

  const open = workspace.layout.store.getState().tabs.flatMap((tab) => (tab.kind === "file" ? [tab.path] : []));
  const paths = query === "" ? [...new Set([...open, ...(found?.paths ?? [])])] : (found?.paths ?? []);
  const answered = found?.query === query;
  return {
    choices: query === null ? [] : paths.slice(0, 50).map((path) => fileChoice(path, () => openFile(workspace, path))),
    note: failed ? "The files cannot be searched at the moment" : answered && paths.length === 0 ? "No file is called that" : null,
    current: answered || query === "",
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
