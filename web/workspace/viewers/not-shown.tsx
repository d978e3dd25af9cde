import { Download, FileQuestion } from "lucide-react";
import { useWorkspace } from "../state/context.ts";
import { nameOf } from "../text/paths.ts";

// A file that can only be downloaded.
export function NotShown({ path, text }: { path: string; text: string }) {
  return (
    <div className="empty">
      <FileQuestion size={32} strokeWidth={1.4} />
      <h2>{nameOf(path)} cannot be shown here</h2>
      <p>{text}</p>
      <DownloadLink path={path} />
    </div>
  );
}

export function DownloadLink({ path }: { path: string }) {
  const { api } = useWorkspace();
  return (
    <a className="button small" href={api.fileUrl(path)} download={nameOf(path)}>
      <Download size={14} />
      Download
    </a>
  );
}
