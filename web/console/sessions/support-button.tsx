import { useState } from "react";
import type { ConsoleSessionDetail, ConsoleSupportLink } from "@berth/contract/console.ts";
import { useConsole } from "../connection/context.ts";
import { Dialog } from "../parts/confirm.tsx";

// Opens the workspace for the operator's support, where the partner allows it.
export function SupportButton({ session, onFailure }: { session: ConsoleSessionDetail; onFailure: (message: string) => void }) {
  const { api, viewer } = useConsole();
  const [isAsking, setAsking] = useState(false);
  if (viewer.kind !== "operator" || !session.supportAccess || session.status === "destroyed") return null;
  const look = async () => {
    setAsking(false);
    // Opened before the answer arrives, because browsers block windows that no click opens.
    const tab = window.open("", "_blank");
    try {
      const { url } = await api.post<ConsoleSupportLink>(`/sessions/${encodeURIComponent(session.id)}/support`);
      if (tab) tab.location.href = url;
      else window.location.href = url;
    } catch (error) {
      tab?.close();
      onFailure(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <>
      <button type="button" className="button" onClick={() => setAsking(true)}>
        Look at the workspace
      </button>
      {isAsking && (
        <Dialog title="Look at this workspace?" onClose={() => setAsking(false)}>
          <p>You can see everything in it and change nothing. The user sees that support is looking, and the audit log records it.</p>
          <div className="row end">
            <button type="button" className="button" onClick={() => setAsking(false)}>
              Cancel
            </button>
            <button type="button" className="button primary" autoFocus onClick={() => void look()}>
              Look
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}
