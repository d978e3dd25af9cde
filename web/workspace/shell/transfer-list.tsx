import { Upload, X } from "lucide-react";
import { IconButton } from "../parts/icon-button.tsx";
import { useWorkspaceState } from "../state/context.ts";
import { formatBytes } from "../text/paths.ts";

// The progress of uploads.
export function TransferList() {
  const list = useWorkspaceState("transfers", (state) => state.list);
  return list.map(({ id, text, doneBytes, totalBytes, cancel }) => (
    <div key={id} className="notice transfer">
      <Upload size={16} />
      <div className="grow">
        <p>
          {text}: {formatBytes(doneBytes)} of {formatBytes(totalBytes)}
        </p>
        <progress aria-label={text} max={Math.max(1, totalBytes)} value={doneBytes} />
      </div>
      <IconButton label="Cancel the upload" onClick={cancel}>
        <X size={14} />
      </IconButton>
    </div>
  ));
}
