import { useEffect, useState } from "react";
import type { Choice, Choices } from "../parts/choice-dialog.tsx";
import { FileIcon } from "../parts/file-icon.tsx";
import { usePage, useSandbox } from "../state/context.ts";
import { useActions } from "../actions/actions.ts";
import { activeFile, openPaths } from "../state/tabs/editor-groups.ts";
import { nameOf, parentOf } from "../text/paths.ts";
import { orderFiles } from "./order-files.ts";
import type { PaletteInput } from "./parse-input.ts";

// People type more letters instead of reading on.
const MAX_SHOWN = 20;
const DEBOUNCE_MS = 60;
const RETRY_MS = 1000;

// The daemon finds the files. Open and recent ones are listed at once.
export function useFoundFiles(input: Extract<PaletteInput, { kind: "files" }> | null): Choices {
  const page = usePage();
  const { api } = useSandbox();
  const { openFile } = useActions();
  const query = input?.query ?? null;
  const [found, setFound] = useState<{ query: string; paths: string[] } | null>(null);
  const [failed, setFailed] = useState(false);

  useEffect(() => {
    if (query === null) return;
    let cancelled = false;
    let timer = setTimeout(search, DEBOUNCE_MS);
    function search(): void {
      api.findFiles(query ?? "").then(
        ({ paths }) => {
          if (cancelled) return;
          setFound({ query: query ?? "", paths });
          setFailed(false);
        },
        () => {
          if (cancelled) return;
          setFailed(true);
          // Enter may be waiting for the answer.
          timer = setTimeout(search, RETRY_MS);
        },
      );
    }
    return () => {
      cancelled = true;
      clearTimeout(timer);
    };
  }, [query, page, api, openFile]);

  if (input === null) return { choices: [], note: null, isCurrent: true };
  const layout = page.layout.store.getState();
  const recent = [...new Set([...layout.recentFiles, ...openPaths(layout)])];
  const isAnswered = found?.query === input.query;
  const paths = orderFiles({ query: input.query, found: found?.paths ?? [], isAnswered, recent, shown: activeFile(layout) });
  const [first] = paths;
  const choose = (path: string) => openFile(path, input.location ?? undefined);
  return {
    choices: paths.slice(0, MAX_SHOWN).map((path) => fileChoice(path, () => choose(path))),
    note: noteOn({ failed, isAnswered, count: paths.length }),
    // A recent file that matches stays the first one when the answer arrives.
    isCurrent: isAnswered || (first !== undefined && recent.includes(first)),
  };
}

function noteOn({ failed, isAnswered, count }: { failed: boolean; isAnswered: boolean; count: number }): string | null {
  if (failed) return "Files could not be searched. Check your connection";
  if (count > 0) return null;
  return isAnswered ? "No matching files" : "Looking for files…";
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
