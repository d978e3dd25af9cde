import type { ConsoleList, ConsoleOpening } from "@berth/contract/console.ts";
import { useData } from "../../connection/use-data.ts";
import { DataTable } from "../../parts/data-table.tsx";
import { Failure } from "../../parts/failure.tsx";
import { dateTime, duration } from "../../parts/format.ts";
import { Mark } from "../../parts/status.tsx";

const REFRESH_MS = 5000;

// The list of people who opened the session in a browser.
export function OpeningList({ sessionId }: { sessionId: string }) {
  const path = `/sessions/${encodeURIComponent(sessionId)}/openings`;
  const { data, error } = useData<ConsoleList<ConsoleOpening>>(path, {}, { everyMs: REFRESH_MS });
  return (
    <>
      <h2>Opened by</h2>
      <Failure message={error} />
      {data && (
        <DataTable
          label="Opened by"
          rows={data.data}
          keyOf={({ openedAt }) => openedAt}
          empty="No one has opened this session in a browser."
          columns={[
            { name: "Name", value: ({ name }) => name ?? "Guest" },
            { name: "Opened", value: ({ openedAt }) => dateTime(openedAt) },
            { name: "Closed", value: (opening) => <End {...opening} /> },
            { name: "Address", value: ({ address }) => <span className="mono">{address}</span> },
            { name: "Browser", value: ({ agent }) => agent },
            { name: "Role", value: ({ role }) => role ?? "–" },
          ]}
        />
      )}
    </>
  );
}

function End({ openedAt, endedAt }: ConsoleOpening) {
  if (endedAt === null) return <Mark tint="good">open</Mark>;
  const ms = Date.parse(endedAt) - Date.parse(openedAt);
  return ms === 0 ? "no page followed" : `after ${duration(ms)}`;
}
