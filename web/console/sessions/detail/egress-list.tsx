import type { EgressHost, EgressLog } from "@berth/contract";
import { useData } from "../../connection/use-data.ts";
import { DataTable } from "../../parts/data-table.tsx";
import { Failure } from "../../parts/failure.tsx";
import { bytes, count, relative } from "../../parts/format.ts";
import { Mark, type Tint } from "../../parts/status.tsx";

const REFRESH_MS = 10_000;
const TINTS: Record<EgressHost["outcome"], Tint> = { allowed: "good", refused: "bad", unreachable: "warn" };

// The hosts that the sandbox reached, and those that it was not allowed to.
export function EgressList({ sessionId }: { sessionId: string }) {
  const path = `/sessions/${encodeURIComponent(sessionId)}/egress`;
  const { data, error } = useData<EgressLog>(path, {}, { everyMs: REFRESH_MS });
  return (
    <>
      <h2>Egress</h2>
      <Failure message={error} />
      {data && (
        <DataTable
          label="Egress"
          rows={data.data}
          keyOf={({ outcome, host, port, rule }) => `${outcome} ${host} ${port} ${rule}`}
          empty="The sandbox has asked for no host yet. New connections appear within ten seconds."
          columns={[
            { name: "Host", value: (row) => <span className="mono wrap">{nameOf(row)}</span> },
            { name: "Outcome", value: ({ outcome }) => <Mark tint={TINTS[outcome]}>{outcome}</Mark> },
            { name: "Rule", value: ({ rule }) => rule || "–" },
            { name: "Connections", isNumber: true, value: ({ connections }) => count(connections) },
            { name: "Sent", isNumber: true, value: ({ sentBytes }) => bytes(sentBytes) },
            { name: "Received", isNumber: true, value: ({ receivedBytes }) => bytes(receivedBytes) },
            { name: "First", value: ({ firstAt }) => relative(firstAt) },
            { name: "Last", value: ({ lastAt }) => relative(lastAt) },
          ]}
        />
      )}
    </>
  );
}

const nameOf = ({ host, port }: EgressHost): string => (host === "*" ? "other hosts" : `${host}:${port}`);
