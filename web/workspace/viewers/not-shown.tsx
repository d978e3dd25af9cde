import { Download, FileQuestion } from "lucide-react";
import { downloadFile } from "../actions/download-action.ts";
import { usePage, useSandbox } from "../state/context.ts";
import { nameOf } from "../text/paths.ts";

// A file that can only be downloaded.
export function NotShown({ path, text }: { path: string; text: string }) {
  return (
    <div className="empty">
      <FileQuestion size={32} strokeWidth={1.4} />
      <h2>{nameOf(path)} cannot be shown here</h2>
      <p>{text}</p>
      <DownloadButton path={path} />
    </div>
  );
}

export function DownloadButton({ path }: { path: string }) {
  const deps = { ...usePage(), ...useSandbox() };
  return (
    <button type="button" className="button small" onClick={() => void downloadFile(deps, path)}>
      <Download size={14} />
      Download
    </button>
  );
}
