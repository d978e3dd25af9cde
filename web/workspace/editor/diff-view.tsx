import { LanguageDescription } from "@codemirror/language";
import { languages } from "@codemirror/language-data";
import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { useEffect, useRef, useState, type RefObject } from "react";
import { useWorkspace, useWorkspaceState } from "../state/context.ts";
import { nameOf } from "../text/paths.ts";
import { originalOf } from "../state/documents/original.ts";
import { theme } from "./code/theme.ts";
import { Changed } from "./conflict-bar.tsx";

// Two versions of a file side by side, or one below the other where there is little room.
export default function DiffView({ path, against }: { path: string; against: "start" | "disk" }) {
  const workspace = useWorkspace();
  const file = useWorkspaceState("documents", (state) => state.files[path]);
  const conflict = file?.kind === "text" && file.document.conflict?.kind === "changed" ? file.document.conflict : null;
  const [original, setOriginal] = useState<string | null>(null);
  const mine = file?.kind === "text" || file?.kind === "failed" ? workspace.documents.textOf(path) : null;

  useEffect(() => {
    if (against === "disk") return setOriginal(conflict?.text ?? null);
    let current = true;
    void workspace.notices.attempt(`Could not compare ${path}`, async () => {
      const text = await originalOf(workspace.api, path);
      if (current) setOriginal(text);
    });
    return () => void (current = false);
  }, [workspace, path, against, conflict, file]);

  if (against === "disk" && conflict === null) return <div className="empty">There is nothing to compare: both texts are the same.</div>;
  return (
    <>
      {against === "disk" && <Changed path={path} comparing />}
      <div className="diff-head">
        <span className="grow truncate">{against === "disk" ? "Left: on disk. Right: your text." : `${nameOf(path)}: before and now`}</span>
      </div>
      {original !== null && mine !== null && <Diff path={path} before={original} after={mine} />}
    </>
  );
}

function Diff({ path, before, after }: { path: string; before: string; after: string }) {
  const parent = useRef<HTMLDivElement>(null);
  const wide = useWide(parent, 760);
  useEffect(() => {
    const element = parent.current;
    if (!element || wide === null) return;
    let view: { destroy(): void } | null = null;
    void languageOf(path).then((support) => {
      if (!element.isConnected) return;
      const extensions = [
        EditorState.readOnly.of(true),
        EditorView.editable.of(false),
        lineNumbers(),
        theme,
        support,
        EditorView.contentAttributes.of({ "aria-label": `Differences of ${path}`, tabindex: "0" }),
      ];
      const collapseUnchanged = { margin: 3, minSize: 6 };
      // A new file has nothing to stand beside.
      view =
        wide && before !== ""
          ? new MergeView({
              a: { doc: before, extensions },
              b: { doc: after, extensions },
              parent: element,
              collapseUnchanged,
              gutter: true,
            })
          : new EditorView({
              doc: after,
              parent: element,
              extensions: [
                ...extensions,
                unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged, highlightChanges: before !== "" }),
              ],
            });
    });
    return () => {
      view?.destroy();
      element.replaceChildren();
    };
  }, [path, before, after, wide]);
  return <div ref={parent} className="diff" />;
}

// Whether the place of the comparison is wide enough for two columns; null until it has been measured.
function useWide(place: RefObject<HTMLElement | null>, minWidth: number): boolean | null {
  const [wide, setWide] = useState<boolean | null>(null);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const measured = new ResizeObserver(() => setWide(element.clientWidth >= minWidth));
    measured.observe(element);
    return () => measured.disconnect();
  }, [place, minWidth]);
  return wide;
}

async function languageOf(path: string): Promise<Extension> {
  return (await LanguageDescription.matchFilename(languages, nameOf(path))?.load()) ?? [];
}
