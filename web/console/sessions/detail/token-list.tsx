import { useState } from "react";
import type { SessionToken } from "@berth/contract";
import type { ConsoleList } from "@berth/contract/console.ts";
import { useConsole } from "../../connection/context.ts";
import { useData } from "../../connection/use-data.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { DataTable } from "../../parts/data-table.tsx";
import { Failure } from "../../parts/failure.tsx";
import { relative } from "../../parts/format.ts";
import { Mark } from "../../parts/status.tsx";

const REFRESH_MS = 10_000;

// The tokens that open this session, newest first.
export function TokenList({ sessionId }: { sessionId: string }) {
  const { api } = useConsole();
  const path = `/sessions/${encodeURIComponent(sessionId)}/tokens`;
  const { data, error, reload } = useData<ConsoleList<SessionToken>>(path, {}, { everyMs: REFRESH_MS });
  const [failure, setFailure] = useState<string | null>(null);
  const [revoking, setRevoking] = useState<SessionToken | null>(null);

  const revoke = async ({ tokenId }: SessionToken) => {
    setFailure(null);
    try {
      await api.post(`${path}/${tokenId}/revoke`);
      await reload();
    } catch (failed) {
      setFailure(failed instanceof Error ? failed.message : String(failed));
    }
  };

  return (
    <>
      <h2>Tokens</h2>
      <Failure message={failure ?? error} />
      {data && (
        <DataTable
          label="Tokens"
          rows={data.data}
          keyOf={({ tokenId }) => tokenId}
          empty="This session has no tokens. Partners create them over the API."
          columns={[
            { name: "Token", value: ({ tokenId }) => <span className="mono">{tokenId}</span> },
            { name: "Name", value: ({ name }) => name || "–" },
            { name: "Scopes", value: scopesOf },
            { name: "State", value: ({ state }) => <Mark tint={state === "active" ? "good" : "none"}>{state}</Mark> },
            { name: "Created", value: ({ createdAt }) => relative(createdAt) },
            { name: "Ends", value: ({ revokedAt, expiresAt }) => relative(revokedAt ?? expiresAt) },
            {
              name: "Actions",
              value: (token) =>
                token.state === "active" && (
                  <button
                    type="button"
                    className="button small danger"
                    aria-label={`Revoke ${token.tokenId}`}
                    onClick={() => setRevoking(token)}
                  >
                    Revoke
                  </button>
                ),
            },
          ]}
        />
      )}
      {revoking && (
        <Confirm
          title="Revoke this token?"
          action="Revoke"
          onClose={() => setRevoking(null)}
          onConfirm={() => {
            setRevoking(null);
            void revoke(revoking);
          }}
        >
          <p>
            Requests with <span className="mono">{revoking.tokenId}</span> are rejected at once, and its open connections end within
            seconds.
          </p>
        </Confirm>
      )}
    </>
  );
}

const scopesOf = ({ scopes, ports }: SessionToken): string =>
  scopes.map((scope) => (scope === "ports" && ports ? `ports (${ports.join(", ")})` : scope)).join(", ");
