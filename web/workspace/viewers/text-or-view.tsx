import "../styles/editor/viewers.css";
import { lazy, Suspense, useEffect, useState, type ReactNode } from "react";
import { loadModule } from "../browser/load-module.ts";
import { usePage, usePageState } from "../state/context.ts";
import type { TextDocument } from "../state/documents/document.ts";
import { nameOf } from "../text/paths.ts";
import type { TextView } from "./text-view.ts";

const ImageViewer = lazy(() => loadModule(() => import("./image-viewer.tsx")));
const TableViewer = lazy(() => loadModule(() => import("./table-viewer.tsx")));

const labels: Record<TextView, string> = { table: "Table", picture: "Picture" };
// The files that this page shows as text although they have another view.
const shownAsText = new Set<string>();

// A text that is shown as a picture or a table until the person wants to see or edit the text.
export default function TextOrView({ doc, view, children }: { doc: TextDocument; view: TextView; children: ReactNode }) {
  const { path } = doc;
  const isRevealed = usePageState("cursor", ({ reveal }) => reveal?.path === path);
  const [asText, setAsText] = useState(() => shownAsText.has(path));
  const choose = (text: boolean) => {
    if (text) shownAsText.add(path);
    else shownAsText.delete(path);
    setAsText(text);
  };
  useEffect(() => {
    if (isRevealed) setAsText(true);
  }, [isRevealed]);
  const viewSwitch = (
    <div className="view-switch" role="group" aria-label="Show as">
      <button type="button" aria-pressed={!asText} onClick={() => choose(false)}>
        {labels[view]}
      </button>
      <button type="button" aria-pressed={asText} onClick={() => choose(true)}>
        Text
      </button>
    </div>
  );
  if (asText)
    return (
      <>
        <div className="viewer-bar">{viewSwitch}</div>
        {children}
      </>
    );
  return (
    <Suspense fallback={<div className="loading-center" aria-busy="true" />}>
      <OtherView key={`${doc.etag} ${doc.revision}`} path={path} view={view}>
        {viewSwitch}
      </OtherView>
    </Suspense>
  );
}

// A picture of SVG comes from a data URL: scripts in it do not run, it loads nothing, and the browser opens no page with it.
function OtherView({ path, view, children }: { path: string; view: TextView; children: ReactNode }) {
  const { documents } = usePage();
  const text = documents.textOf(path);
  if (view === "table")
    return (
      <TableViewer name={nameOf(path)} text={text}>
        {children}
      </TableViewer>
    );
  const src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  return (
    <ImageViewer name={nameOf(path)} src={src} size={new TextEncoder().encode(text).length}>
      {children}
    </ImageViewer>
  );
}
