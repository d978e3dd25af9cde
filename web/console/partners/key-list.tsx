import type { Key, KeyWithSecret } from "@berth/contract";
import type { ConsoleList } from "@berth/contract/console.ts";
import { useState } from "react";
import { useConsole } from "../connection/context.ts";
import { useData } from "../connection/use-data.ts";
import { Confirm } from "../parts/confirm.tsx";
import { DataTable } from "../parts/data-table.tsx";
import { Failure } from "../parts/failure.tsx";
import { relative } from "../parts/format.ts";
import { Mark } from "../parts/status.tsx";
import { NewKeyForm } from "./new-key-form.tsx";
import { ShownKey } from "./shown-key.tsx";

export function KeyList({ partnerId }: { partnerId: string }) {
  const { api } = useConsole();
  const query = { partner: partnerId };
  const { data, error, reload } = useData<ConsoleList<Key>>("/keys", query);
  const [failure, setFailure] = useState<string | null>(null);
  const [shown, setShown] = useState<KeyWithSecret | null>(null);
  const [revoking, setRevoking] = useState<Key | null>(null);
  const [isAdding, setAdding] = useState(false);

  const change = async (path: string, body: object) => {
    setFailure(null);
    try {
      const changed = await api.post<Key | KeyWithSecret>(path, { query, body });
      if ("key" in changed) setShown(changed);
      await reload();
    } catch (failed) {
      setFailure(failed instanceof Error ? failed.message : String(failed));
    }
  };

  return (
    <>
      <div className="head">
        <h2>API keys</h2>
        <span className="grow" />
        <button type="button" className="button" onClick={() => setAdding(true)}>
          Issue a key
        </button>
      </div>
      <Failure message={failure ?? error} />
      {data && (
        <DataTable
          label="API keys"
          rows={data.data}
          keyOf={({ id }) => id}
          empty="No keys."
          columns={[
            { name: "Key", value: ({ hint }) => <span className="mono">{hint}</span> },
            { name: "Name", value: ({ name }) => name || "–" },
            { name: "Scope", value: ({ scope }) => scope },
            { name: "State", value: ({ state }) => <Mark tint={state === "active" ? "good" : "none"}>{state}</Mark> },
            { name: "Last used", value: ({ lastUsedAt }) => relative(lastUsedAt) },
            { name: "Ends", value: ({ revokedAt, expiresAt }) => relative(revokedAt ?? expiresAt) },
            {
              name: "Actions",
              value: (key) =>
                key.state === "active" && (
                  <span className="row">
                    <button
                      type="button"
                      className="button small"
                      aria-label={`Rotate ${key.hint}`}
                      onClick={() => void change(`/keys/${key.id}/rotate`, {})}
                    >
                      Rotate
                    </button>
                    <button
                      type="button"
                      className="button small danger"
                      aria-label={`Revoke ${key.hint}`}
                      onClick={() => setRevoking(key)}
                    >
                      Revoke
                    </button>
                  </span>
                ),
            },
          ]}
        />
      )}
      {isAdding && (
        <NewKeyForm
          onClose={() => setAdding(false)}
          onSubmit={(key) => {
            setAdding(false);
            void change("/keys", key);
          }}
        />
      )}
      {shown && <ShownKey issued={shown} onClose={() => setShown(null)} />}
      {revoking && (
        <Confirm
          title="Revoke this key?"
          action="Revoke"
          onClose={() => setRevoking(null)}
          onConfirm={() => {
            setRevoking(null);
            void change(`/keys/${revoking.id}/revoke`, {});
          }}
        >
          <p>
            Requests with <span className="mono">{revoking.hint}</span> are rejected at once.
          </p>
        </Confirm>
      )}
    </>
  );
}
