import type { ConsolePartner, ConsolePartnerDetail } from "@berth/contract/console.ts";
import { useConsole } from "../connection/context.ts";
import { useData } from "../connection/use-data.ts";
import { Failure } from "../parts/failure.tsx";
import { count } from "../parts/format.ts";
import { Link } from "../parts/link.tsx";
import { Meter, Stat } from "../parts/stat.tsx";
import { Mark } from "../parts/status.tsx";
import { KeyList } from "./key-list.tsx";
import { PartnerSettings } from "./partner-settings.tsx";
import { UsageByDay } from "./usage-by-day.tsx";

// The partner's own page in the partner's console.
export function AccountPage() {
  const { viewer } = useConsole();
  return <PartnerDetail id={viewer.partnerId ?? ""} />;
}

const REFRESH_MS = 10_000;

export function PartnerDetail({ id }: { id: string }) {
  const { viewer } = useConsole();
  const { data: partner, error, reload } = useData<ConsolePartnerDetail>("/partner", { partner: id }, { everyMs: REFRESH_MS });
  return (
    <div className="page">
      {viewer.kind === "operator" && (
        <nav aria-label="Breadcrumb">
          <Link to={["partners"]}>Partners</Link>
        </nav>
      )}
      <div className="head">
        <h1>{partner?.name ?? id}</h1>
        {partner && <Mark tint={partner.state === "active" ? "good" : "warn"}>{partner.state}</Mark>}
        <span className="grow" />
        <Link to={["runs"]} query={viewer.kind === "operator" ? { partner: id } : {}}>
          Runs
        </Link>
      </div>
      <Failure message={error} />
      {partner && (
        <>
          <Quotas partner={partner} />
          <PartnerSettings partner={partner} onChanged={reload} />
          <UsageByDay partnerId={id} />
          <KeyList partnerId={id} />
        </>
      )}
    </div>
  );
}

const Quotas = ({ partner: { live, maxSessions, maxSessionsPerUser } }: { partner: ConsolePartner }) => (
  <section aria-label="Quotas" className="stats">
    {maxSessions === null ? (
      <Stat name="Live sessions" value={count(live)} note="no limit" />
    ) : (
      <Meter name="Live sessions" used={live} total={maxSessions} format={count} />
    )}
    <Stat name="Sessions per user" value={maxSessionsPerUser === null ? "no limit" : `at most ${count(maxSessionsPerUser)}`} />
  </section>
);
