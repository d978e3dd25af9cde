import "../styles/editor/viewers.css";
import { useEffect, useRef, useState } from "react";
import { ROW_HEIGHT, useVisibleRange } from "../browser/use-visible-range.ts";
import { useSandbox } from "../state/context.ts";
import { describeError } from "../state/page/notices.ts";
import { formatBytes, nameOf } from "../text/paths.ts";
import { BYTES_PER_ROW, hexRow } from "./hex-rows.ts";
import { DownloadButton } from "./not-shown.tsx";

const PAGE_BYTES = 64 * 1024;
const MAX_PAGES = 16;
// Browsers limit the height of a list.
const MAX_BYTES = 8 * 1024 * 1024;

// The bytes of a file. Only the parts on the screen are loaded, and only the last of them are kept.
export default function HexViewer({ path, size }: { path: string; size: number }) {
  const scroller = useRef<HTMLDivElement>(null);
  const range = useVisibleRange(scroller);
  const shownBytes = Math.min(size, MAX_BYTES);
  const count = Math.ceil(shownBytes / BYTES_PER_ROW);
  const last = Math.min(range.end, count);
  const { pages, error } = usePages(path, range.first * BYTES_PER_ROW, Math.min(last * BYTES_PER_ROW, shownBytes));

  const rowAt = (index: number) => {
    const offset = index * BYTES_PER_ROW;
    const start = offset % PAGE_BYTES;
    const bytes = pages.get(Math.floor(offset / PAGE_BYTES))?.subarray(start, start + BYTES_PER_ROW);
    const row = hexRow(bytes ?? new Uint8Array(), offset);
    return (
      <div key={index} className="hex-row" style={{ top: index * ROW_HEIGHT }}>
        <span className="muted">{row.offset}</span>
        <span>{row.hex}</span>
        <span className="hex-text">{row.text}</span>
      </div>
    );
  };
  return (
    <div className="viewer">
      <div className="viewer-bar">
        <span className="grow muted truncate">
          Bytes of a file that is not a text ({formatBytes(size)}
          {size > MAX_BYTES && `, the first ${formatBytes(MAX_BYTES)} are shown`})
        </span>
        <DownloadButton path={path} />
      </div>
      {error !== null && <p className="viewer-error">Could not load the bytes: {error}</p>}
      <div ref={scroller} className="hex-view" tabIndex={0} role="group" aria-label={`Bytes of ${nameOf(path)}`}>
        <div style={{ height: count * ROW_HEIGHT }}>
          {Array.from({ length: Math.max(0, last - range.first) }, (_, i) => rowAt(range.first + i))}
        </div>
      </div>
    </div>
  );
}

type Pages = ReadonlyMap<number, Uint8Array>;

// Loads the pages that contain the bytes from `start` to `end`.
function usePages(path: string, start: number, end: number): { pages: Pages; error: string | null } {
  const { api } = useSandbox();
  const [pages, setPages] = useState<Pages>(new Map());
  const [error, setError] = useState<string | null>(null);
  const first = Math.floor(start / PAGE_BYTES);
  const final = Math.max(first, Math.floor(Math.max(0, end - 1) / PAGE_BYTES));
  useEffect(() => {
    const leaving = new AbortController();
    async function load(page: number): Promise<void> {
      const bytes = await api.readRange(path, page * PAGE_BYTES, PAGE_BYTES, leaving.signal);
      if (!leaving.signal.aborted) setPages((known) => new Map([...[...known].slice(1 - MAX_PAGES), [page, bytes]]));
    }
    const missing = Array.from({ length: final - first + 1 }, (_, i) => first + i).filter((page) => !pages.has(page));
    Promise.all(missing.map(load)).then(
      () => setError(null),
      (thrown: unknown) => leaving.signal.aborted || setError(describeError(thrown)),
    );
    return () => leaving.abort();
    // Pages that arrive do not start another load.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [api, path, first, final]);
  return { pages, error };
}
