import "../styles/editor/diff.css";
import { LanguageDescription } from "@codemirror/language";
import { languages } from "@codemirror/language-data";
import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { useEffect, useRef, useState, type RefObject } from "react";
import { usePage, usePageState, useSandbox } from "../state/context.ts";
import { nameOf } from "../text/paths.ts";
import { readOriginal, type Original } from "../state/documents/original.ts";
import { theme } from "./code/theme.ts";
import { BinaryDiff } from "./binary-diff.tsx";
import { ChangedOnDisk } from "./conflict-bar.tsx";

// Compares two versions of a file, side by side if there is room.
export default function DiffView({ path, against }: { path: string; against: "original" | "disk" }) {
  const page = usePage();
  const { api } = useSandbox();
  const file = usePageState("documents", (state) => state.files[path]);
  const conflict = file?.kind === "text" && file.document.conflict?.kind === "changed" ? file.document.conflict : null;
  const [original, setOriginal] = useState<Original | null>(null);
  const [hasFailed, setFailed] = useState(false);
  const currentText = file?.kind === "text" || file?.kind === "failed" ? page.documents.textOf(path) : null;

  useEffect(() => {
    if (against === "disk") return setOriginal(conflict && { kind: "text", text: conflict.text });
    let cancelled = false;
    const reading = page.notices.attempt(`Could not compare ${path}`, async () => {
      const found = await readOriginal(api, path);
      if (!cancelled) setOriginal(found);
    });
    void reading.then((isRead) => setFailed(!isRead));
    return () => void (cancelled = true);
  }, [page, api, path, against, conflict, file]);

  if (against === "disk" && conflict === null) return <div className="empty">Nothing to compare. Both versions are the same.</div>;
  return (
    <>
      {against === "disk" && <ChangedOnDisk path={path} comparing />}
      <div className="diff-head">
        <span className="grow truncate">
          {against === "disk" ? "Left: on disk. Right: your version." : `${nameOf(path)}: before and now`}
        </span>
      </div>
      {original === null || file === undefined || file.kind === "loading" ? (
        !hasFailed && (
          <div className="loading-center" aria-busy="true">
            <div className="spinner" />
          </div>
        )
      ) : currentText === null || original.kind === "binary" ? (
        <BinaryDiff path={path} original={original} current={file} />
      ) : (
        <Diff path={path} before={original.kind === "text" ? original.text : ""} after={currentText} />
      )}
    </>
  );
}

export function Diff({ path, before, after }: { path: string; before: string; after: string }) {
  const container = useRef<HTMLDivElement>(null);
  const wide = useIsWide(container, 760);
  useEffect(() => {
    const element = container.current;
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
        EditorView.contentAttributes.of({ "aria-label": `Changes in ${path}`, tabindex: "0" }),
      ];
      const collapseUnchanged = { margin: 3, minSize: 6 };
      // A new file has no original to show beside it.
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
  return <div ref={container} className="diff" />;
}

// Null until the element is measured.
function useIsWide(container: RefObject<HTMLElement | null>, minWidth: number): boolean | null {
  const [wide, setWide] = useState<boolean | null>(null);
  useEffect(() => {
    const element = container.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWide(element.clientWidth >= minWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, [container, minWidth]);
  return wide;
}

async function languageOf(path: string): Promise<Extension> {
  return (await LanguageDescription.matchFilename(languages, nameOf(path))?.load()) ?? [];
}
