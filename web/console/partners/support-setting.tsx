import type { ConsolePartnerDetail } from "@berth/contract/console.ts";
import { useState } from "react";
import { useConsole } from "../connection/context.ts";
import { Failure } from "../parts/failure.tsx";

// Lets the operator's support look at workspaces, or forbids it.
export function SupportSetting({ partner, onChanged }: { partner: ConsolePartnerDetail; onChanged: () => Promise<void> }) {
  const { api } = useConsole();
  const [failure, setFailure] = useState<string | null>(null);
  const change = async (isAllowed: boolean) => {
    setFailure(null);
    try {
      await api.post("/partner/support", { body: { version: partner.version, supportAccess: isAllowed ? "yes" : "no" } });
      await onChanged();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <div className="form">
      <label className="check">
        <input type="checkbox" checked={partner.supportAccess} onChange={(event) => void change(event.target.checked)} />
        The operator’s support may look at workspaces. It sees everything and changes nothing; users see a notice, and the audit log has
        each visit.
      </label>
      <Failure message={failure} />
    </div>
  );
}
