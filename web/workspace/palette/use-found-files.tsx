import { useEffect, useState } from "react";
import type { Choice, Choices } from "../parts/choice-dialog.tsx";
import { FileIcon } from "../parts/file-icon.tsx";
import { openFile } from "../state/actions/open-actions.ts";
import { useWorkspace } from "../state/context.ts";
import { activeFile } from "../state/tabs/editor-groups.ts";
import { nameOf, parentOf } from "../text/paths.ts";
import { orderFiles } from "./order-files.ts";
import type { PaletteInput } from "./parse-input.ts";

// People type more letters instead of reading on.
const MAX_SHOWN = 20;
const DEBOUNCE_MS = 60;

// The daemon finds the files.
export function useFoundFiles(input: Extract<PaletteInput, { kind: "files" }> | null): Choices {
  const workspace = useWorkspace();
  const query = input?.query ?? null;
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
    }, DEBOUNCE_MS);
    return () => {
      cancelled = true;
      clearTimeout(timer);
    };
  }, [query, workspace]);

  if (input === null) return { choices: [], note: null, isCurrent: true };
  const layout = workspace.layout.store.getState();
  const paths = orderFiles(input.query, found?.paths ?? [], layout.recentFiles, activeFile(layout));
  const answered = found?.query === input.query;
  const choose = (path: string) => openFile(workspace, path, input.location ?? undefined);
  return {
    choices: paths.slice(0, MAX_SHOWN).map((path) => fileChoice(path, () => choose(path))),
    note: failed ? "Files could not be searched. Check your connection" : answered && paths.length === 0 ? "No matching files" : null,
    isCurrent: answered || input.query === "",
  };
}

const fileChoice = (path: string, run: () => void): Choice => ({
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
