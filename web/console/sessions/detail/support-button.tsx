import { useState } from "react";
import type { ConsoleSessionDetail, ConsoleSupportLink } from "@berth/contract/console.ts";
import { useConsole } from "../../connection/context.ts";
import { Dialog } from "../../parts/confirm.tsx";

// Opens the workspace for the operator's support, where the partner allows it.
export function SupportButton({ session, onFailure }: { session: ConsoleSessionDetail; onFailure: (message: string) => void }) {
  const { api, viewer } = useConsole();
  const [isAsking, setAsking] = useState(false);
  const [url, setUrl] = useState<string | null>(null);
  if (viewer.kind !== "operator" || !session.supportAccess || session.status === "destroyed") return null;
  const closeDialog = () => {
    setAsking(false);
    setUrl(null);
  };
  const look = async () => {
    try {
      setUrl((await api.post<ConsoleSupportLink>(`/sessions/${encodeURIComponent(session.id)}/support`)).url);
    } catch (error) {
      closeDialog();
      onFailure(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <>
      <button type="button" className="button" onClick={() => setAsking(true)}>
        Look at the workspace
      </button>
      {isAsking && (
        <Dialog title="Look at this workspace?" onClose={closeDialog}>
          <p>You can see everything in it and change nothing. The user sees that support is looking, and the audit log records it.</p>
          <div className="row end">
            <button type="button" className="button" onClick={closeDialog}>
              Cancel
            </button>
            {/* A link of its own, because browsers block windows that no click opens. */}
            {url === null ? (
              <button type="button" className="button primary" autoFocus onClick={() => void look()}>
                Look
              </button>
            ) : (
              <a className="button primary" href={url} target="_blank" rel="noreferrer" autoFocus onClick={closeDialog}>
                Open the workspace
              </a>
            )}
          </div>
        </Dialog>
      )}
    </>
  );
}
