import type { ConsoleList, ConsoleRun } from "@berth/contract/console.ts";
import { useData } from "../connection/use-data.ts";
import { Failure } from "../parts/failure.tsx";
import { Link } from "../parts/link.tsx";
import { RunTable } from "./run-table.tsx";

const REFRESH_MS = 5000;

// The newest runs of a session.
export function SessionRuns({ sessionId }: { sessionId: string }) {
  const { data, error } = useData<ConsoleList<ConsoleRun>>("/runs", { sessionId, limit: "10" }, { everyMs: REFRESH_MS });
  return (
    <>
      <h2>Runs</h2>
      <Failure message={error} />
      {data && <RunTable rows={data.data} empty="The agent has had no runs in this session. Partners start them over the API." />}
      {data?.nextCursor && (
        <p>
          <Link to={["runs"]} query={{ sessionId }}>
            All runs of this session
          </Link>
        </p>
      )}
    </>
  );
}
