import { lazy, Suspense, type ReactNode } from "react";
import { loadModule } from "../browser/load-module.ts";
import { useSandbox } from "../state/context.ts";
import type { OpenFile } from "../state/documents/open-files.ts";
import { formatBytes, nameOf } from "../text/paths.ts";
import { NotShown } from "./not-shown.tsx";

const ImageViewer = lazy(() => loadModule(() => import("./image-viewer.tsx")));
const MediaViewer = lazy(() => loadModule(() => import("./media-viewer.tsx")));
const PdfViewer = lazy(() => loadModule(() => import("./pdf-viewer.tsx")));
const HexViewer = lazy(() => loadModule(() => import("./hex-viewer.tsx")));

type Shown = Extract<OpenFile, { size: number }>;

// Shows a file that is not a text. Nothing in it can run: pictures and sound are drawn by the browser, and bytes are only listed.
export default function Viewer({ path, file }: { path: string; file: Shown }) {
  return <Suspense fallback={<div className="loading-center" aria-busy="true" />}>{viewerOf(path, file)}</Suspense>;
}

function viewerOf(path: string, file: Shown): ReactNode {
  if (file.kind === "image") return <PictureFile key={path} path={path} file={file} />;
  if (file.kind === "audio" || file.kind === "video") return <MediaViewer key={path} path={path} kind={file.kind} version={file.version} />;
  if (file.kind === "binary") return <HexViewer key={`${path} ${file.version}`} path={path} size={file.size} />;
  if (file.kind === "pdf") return <PdfViewer key={path} path={path} version={file.version} size={file.size} />;
  return <NotShown path={path} text={`At ${formatBytes(file.size)} it is too large for the editor. Download it instead.`} />;
}

function PictureFile({ path, file }: { path: string; file: { version: string; size: number } }) {
  const { api } = useSandbox();
  return <ImageViewer name={nameOf(path)} src={`${api.fileUrl(path)}&version=${encodeURIComponent(file.version)}`} size={file.size} />;
}
