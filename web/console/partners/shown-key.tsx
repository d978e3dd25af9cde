import type { KeyWithSecret } from "@berth/contract";
import { useState } from "react";
import { Dialog } from "../parts/confirm.tsx";

// Shows a new key, which the server cannot show again.
export function ShownKey({ issued: { key, scope }, onClose }: { issued: KeyWithSecret; onClose: () => void }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <Dialog title="The new key" onClose={onClose}>
      <p>Save it now. The server keeps only its hash and cannot show it again. Its scope is {scope}.</p>
      <output className="secret mono">{key}</output>
      <div className="row end">
        <button
          type="button"
          className="button"
          onClick={() =>
            void navigator.clipboard.writeText(key).then(
              () => setCopied(true),
              () => {},
            )
          }
        >
          {isCopied ? "Copied" : "Copy"}
        </button>
        <button type="button" className="button primary" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  );
}
