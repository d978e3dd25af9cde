import type { ConsolePartner } from "@berth/contract/console.ts";
import { usePages } from "../connection/use-pages.ts";
import { DataTable } from "../parts/data-table.tsx";
import { Failure } from "../parts/failure.tsx";
import { count, relative } from "../parts/format.ts";
import { Link } from "../parts/link.tsx";
import { MoreButton } from "../parts/more-button.tsx";
import { Mark } from "../parts/status.tsx";
import { PartnerDetail } from "./partner-detail.tsx";

export const PartnersPage = ({ rest: [id] }: { rest: string[] }) =>
  id === undefined ? <PartnerList /> : <PartnerDetail key={id} id={id} />;

function PartnerList() {
  const { rows, error, more } = usePages<ConsolePartner>("/partners");
  return (
    <div className="page">
      <h1>Partners</h1>
      <Failure message={error} />
      {rows && (
        <DataTable
          label="Partners"
          rows={rows}
          keyOf={({ id }) => id}
          empty="No partners yet. Create one with: berth partner create"
          columns={[
            { name: "Partner", value: ({ id }) => <Link to={["partners", id]}>{id}</Link> },
            { name: "Name", value: ({ name }) => name },
            { name: "State", value: ({ state }) => <Mark tint={state === "active" ? "good" : "warn"}>{state}</Mark> },
            {
              name: "Live sessions",
              isNumber: true,
              value: ({ id, live }) => (
                <Link to={["sessions"]} query={{ partner: id }}>
                  {count(live)}
                </Link>
              ),
            },
            { name: "Limit", isNumber: true, value: ({ maxSessions }) => (maxSessions === null ? "none" : count(maxSessions)) },
            {
              name: "Headroom",
              isNumber: true,
              value: ({ live, maxSessions }) => (maxSessions === null ? "–" : count(Math.max(0, maxSessions - live))),
            },
            { name: "Created", value: ({ createdAt }) => relative(createdAt) },
          ]}
        />
      )}
      <MoreButton more={more} />
    </div>
  );
}
