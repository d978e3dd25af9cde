import type { ConsoleSnapshot, ConsoleSnapshotList } from "@berth/contract/console.ts";
import { useState } from "react";
import { useConsole } from "../connection/context.ts";
import { useData } from "../connection/use-data.ts";
import { usePages } from "../connection/use-pages.ts";
import { Confirm } from "../parts/confirm.tsx";
import { DataTable, type Column } from "../parts/data-table.tsx";
import { Failure } from "../parts/failure.tsx";
import { bytes, count, relative, shortId } from "../parts/format.ts";
import { Link } from "../parts/link.tsx";
import { MoreButton } from "../parts/more-button.tsx";

// Copies of the files of sessions, with the space that they occupy.
export function SnapshotsPage() {
  const { api, viewer } = useConsole();
  const { rows, error, more, reload } = usePages<ConsoleSnapshot>("/snapshots", { limit: "50" });
  const { data: all, reload: reloadUse } = useData<ConsoleSnapshotList>("/snapshots", { limit: "1" });
  const [failure, setFailure] = useState<string | null>(null);
  const [chosen, setChosen] = useState<ConsoleSnapshot | null>(null);
  const reloadAll = () => {
    reload();
    void reloadUse();
  };
  const remove = ({ id }: ConsoleSnapshot) => {
    setFailure(null);
    setChosen(null);
    api.post(`/snapshots/${id}/delete`).then(reloadAll, (failed: Error) => setFailure(failed.message));
  };
  const partner: Column<ConsoleSnapshot> = {
    name: "Partner",
    value: ({ partnerId }) => (partnerId === null ? "operator" : <Link to={["partners", partnerId]}>{partnerId}</Link>),
  };
  return (
    <div className="page">
      <div className="head">
        <h1>Snapshots</h1>
        {all && (
          <span className="muted">{`${count(all.use.count)} ${all.use.count === 1 ? "snapshot" : "snapshots"}, ${bytes(all.use.bytes)}`}</span>
        )}
        <span className="grow" />
        <button type="button" className="button" onClick={reloadAll}>
          Refresh
        </button>
      </div>
      <Failure message={failure ?? error} />
      {rows && (
        <DataTable
          label="Snapshots"
          rows={rows}
          keyOf={({ id }) => id}
          empty="No snapshots yet. Partners take them over the API."
          columns={[
            { name: "Snapshot", value: ({ id }) => <span className="mono">{id}</span> },
            { name: "Name", value: ({ name }) => name || "–" },
            ...(viewer.kind === "operator" ? [partner] : []),
            { name: "Session", value: ({ sessionId }) => <Link to={["sessions", sessionId]}>{shortId(sessionId)}</Link> },
            { name: "Template", value: ({ template }) => template },
            { name: "Size", isNumber: true, value: (one) => (one.bytes === null ? one.status : bytes(one.bytes)) },
            { name: "Taken", value: ({ createdAt }) => relative(createdAt) },
            {
              name: "Actions",
              value: (snapshot) =>
                snapshot.partnerId !== null &&
                snapshot.status === "ready" && (
                  <button
                    type="button"
                    className="button small danger"
                    aria-label={`Delete ${snapshot.id}`}
                    onClick={() => setChosen(snapshot)}
                  >
                    Delete
                  </button>
                ),
            },
          ]}
        />
      )}
      <MoreButton more={more} />
      {chosen && (
        <Confirm title="Delete this snapshot?" action="Delete" onClose={() => setChosen(null)} onConfirm={() => remove(chosen)}>
          <p>
            New sessions cannot start with <strong>{chosen.name || chosen.id}</strong> any more. Sessions that were created from it keep
            their files.
          </p>
        </Confirm>
      )}
    </div>
  );
}
