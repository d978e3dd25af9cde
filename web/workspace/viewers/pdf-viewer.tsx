import "../styles/editor/viewers.css";
import { useEffect, useState } from "react";
import { useSandbox } from "../state/context.ts";
import { describeError } from "../state/page/notices.ts";
import { formatBytes, nameOf } from "../text/paths.ts";
import { DownloadButton, NotShown } from "./not-shown.tsx";

const MAX_BYTES = 100 * 1024 * 1024;

interface PdfViewerProps {
  path: string;
  version: string;
  size: number;
}

// The browser's own viewer in a frame. The server lets no file of the sandbox into a frame, so the frame shows a copy in memory,
// whose type is set here: whatever the file contains, the browser never takes it for a page.
export default function PdfViewer({ path, version, size }: PdfViewerProps) {
  const hasViewer = navigator.pdfViewerEnabled;
  const { url, error } = useCopy(path, version, hasViewer && size <= MAX_BYTES);
  if (!hasViewer) return <NotShown path={path} text="This browser does not show PDF files. Download it to read it." />;
  if (size > MAX_BYTES) return <NotShown path={path} text={`At ${formatBytes(size)} it is too large to be shown. Download it instead.`} />;
  if (error !== null) return <NotShown path={path} text={error} />;
  return (
    <div className="viewer">
      <div className="viewer-bar">
        <span className="grow muted truncate">PDF, {formatBytes(size)}</span>
        <DownloadButton path={path} />
      </div>
      {url === null ? (
        <div className="loading-center" aria-busy="true" />
      ) : (
        <iframe className="pdf-view" src={url} title={`Pages of ${nameOf(path)}`} />
      )}
    </div>
  );
}

const PDF_START = "%PDF-";

function useCopy(path: string, version: string, wanted: boolean): { url: string | null; error: string | null } {
  const { api } = useSandbox();
  const [copy, setCopy] = useState<{ url: string | null; error: string | null }>({ url: null, error: null });
  useEffect(() => {
    if (!wanted) return;
    const leaving = new AbortController();
    let url: string | null = null;
    async function load(): Promise<void> {
      const response = await api.call(api.filePath(path), { signal: leaving.signal, cache: "no-store" });
      const blob = new Blob([await response.arrayBuffer()], { type: "application/pdf" });
      if (!(await blob.slice(0, 1024).text()).includes(PDF_START)) throw new Error("It is not a PDF file, although its name says so.");
      if (leaving.signal.aborted) return;
      url = URL.createObjectURL(blob);
      setCopy({ url, error: null });
    }
    load().catch((thrown: unknown) => leaving.signal.aborted || setCopy({ url: null, error: describeError(thrown) }));
    return () => {
      leaving.abort();
      if (url !== null) URL.revokeObjectURL(url);
    };
  }, [api, path, version, wanted]);
  return copy;
}
