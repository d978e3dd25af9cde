import { Download, Upload, X } from "lucide-react";
import { IconButton } from "../parts/icon-button.tsx";
import { usePageState } from "../state/context.ts";
import { formatBytes } from "../text/paths.ts";

// The progress of uploads and downloads.
export default function TransferList() {
  const list = usePageState("transfers", (state) => state.list);
  return list.map(({ id, kind, text, doneBytes, totalBytes, cancel }) => (
    <div key={id} className="notice transfer">
      {kind === "upload" ? <Upload size={16} /> : <Download size={16} />}
      <div className="grow">
        <p>
          {text}: {formatBytes(doneBytes)} {totalBytes === null ? "so far" : `of ${formatBytes(totalBytes)}`}
        </p>
        <progress aria-label={text} {...(totalBytes === null ? {} : { max: Math.max(1, totalBytes), value: doneBytes })} />
      </div>
      <IconButton label={`Cancel the ${kind}`} onClick={cancel}>
        <X size={14} />
      </IconButton>
    </div>
  ));
}
