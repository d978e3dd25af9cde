import { useState } from "react";
import type { ConsoleSessionDetail, SessionAction } from "@berth/contract/console.ts";
import { useConsole } from "../../connection/context.ts";
import { Confirm } from "../../parts/confirm.tsx";

interface Props {
  session: ConsoleSessionDetail;
  onDone: () => Promise<void>;
  onFailure: (message: string | null) => void;
}

const HOUR = 3_600_000;
const EXTENSIONS = [1, 4, 24] as const;

export function SessionActions({ session, onDone, onFailure }: Props) {
  const { api } = useConsole();
  const [running, setRunning] = useState<SessionAction | null>(null);
  const [asksToDestroy, setAsksToDestroy] = useState(false);
  const { id, status } = session;

  const act = async (action: SessionAction, body?: object) => {
    setRunning(action);
    onFailure(null);
    await api.post(`/sessions/${id}/${action}`, body ? { body } : {}).then(onDone, (error: Error) => onFailure(error.message));
    setRunning(null);
  };

  if (status === "destroyed" || status === null) return null;
  const isBusy = running !== null;
  return (
    <div className="row" aria-busy={isBusy}>
      {isBusy && <div className="spinner" role="status" aria-label={`${running} is running`} />}
      <select
        className="field small"
        aria-label="Extend"
        value=""
        disabled={isBusy}
        onChange={(event) => void act("extend", { timeoutMs: Number(event.target.value) * HOUR })}
      >
        <option value="">Extend …</option>
        {EXTENSIONS.map((hours) => (
          <option key={hours} value={hours}>
            to {hours} h from {status === "running" ? "now" : "the resume"}
          </option>
        ))}
      </select>
      {status === "running" ? (
        <button type="button" className="button" disabled={isBusy} onClick={() => void act("pause")}>
          Pause
        </button>
      ) : (
        <button type="button" className="button" disabled={isBusy} onClick={() => void act("resume")}>
          Resume
        </button>
      )}
      <button type="button" className="button danger" disabled={isBusy} onClick={() => setAsksToDestroy(true)}>
        Destroy
      </button>
      {asksToDestroy && (
        <Confirm
          title="Destroy this session?"
          action="Destroy"
          onClose={() => setAsksToDestroy(false)}
          onConfirm={() => {
            setAsksToDestroy(false);
            void act("destroy");
          }}
        >
          <p>
            The files of <strong>{session.externalUserId}</strong> in it are deleted and cannot be restored.
          </p>
        </Confirm>
      )}
    </div>
  );
}
