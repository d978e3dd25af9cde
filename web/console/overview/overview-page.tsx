import type { ConsoleMachine, ConsoleOverview, ConsoleServer } from "@berth/contract/console.ts";
import { useConsole } from "../connection/context.ts";
import { useData } from "../connection/use-data.ts";
import { UsageByDay } from "../partners/usage-by-day.tsx";
import { bytes, count, relative, seconds } from "../parts/format.ts";
import { Link } from "../parts/link.tsx";
import { Meter, Stat } from "../parts/stat.tsx";
import { Failure } from "../parts/failure.tsx";

const REFRESH_MS = 5000;

export function OverviewPage() {
  const { viewer } = useConsole();
  const { data, error } = useData<ConsoleOverview>("/overview", {}, { everyMs: REFRESH_MS });
  return (
    <div className="page">
      <h1>Overview</h1>
      <Failure message={error} />
      {data && (
        <>
          <section aria-label="Sessions" className="stats">
            <Stat
              name="Running"
              value={count(data.sessions.running)}
              link={
                <Link to={["sessions"]} query={{ status: "running" }}>
                  Show
                </Link>
              }
            />
            <Stat
              name="Paused"
              value={count(data.sessions.paused + data.sessions.hibernated)}
              note={`${count(data.sessions.hibernated)} hibernated`}
              link={
                <Link to={["sessions"]} query={{ status: "paused" }}>
                  Show
                </Link>
              }
            />
            <Stat name="Created" value={count(data.creates)} note="in the last minute" />
            {data.quota && <Quota {...data.quota} />}
          </section>
          {data.server && <ServerPart {...data.server} />}
          {viewer.partnerId !== null && <UsageByDay partnerId={viewer.partnerId} />}
        </>
      )}
    </div>
  );
}

const Quota = ({ live, maxSessions }: { live: number; maxSessions: number | null }) =>
  maxSessions === null ? (
    <Stat name="Live sessions" value={count(live)} note="no limit" />
  ) : (
    <Meter name="Live sessions" used={live} total={maxSessions} format={count} />
  );

const DISK_PROBLEMS: Record<ConsoleMachine["disk"], string | null> = {
  enough: null,
  low: "Degraded: the disk of the data folder is almost full, so no session, fork or snapshot is created. Free space on it.",
  full: "Degraded: the disk of the data folder is full. Sessions are paused, and continue by themselves when there is space again.",
};

function ServerPart({ driver, createSeconds, pool, refusals, webhooks, machine }: ConsoleServer) {
  return (
    <>
      <Failure message={DISK_PROBLEMS[machine.disk]} />
      <h2>This server</h2>
      <p className="muted">
        Since its start. It creates sandboxes with the driver <code>{driver}</code>.
      </p>
      <section aria-label="This server" className="stats">
        {createSeconds.map(({ start, count: total, p50, p99 }) => (
          <Stat
            key={start}
            name={`Create, ${start}`}
            value={p50 === null ? "–" : `≤ ${seconds(p50)}`}
            note={`median of ${creates(total)}; p99 ${p99 === null ? "–" : `≤ ${seconds(p99)}`}`}
          />
        ))}
        <Stat name="Warm sandboxes" value={count(pool.warm)} note={`${creates(pool.misses)} found none`} />
        <Stat
          name="Webhooks waiting"
          value={count(webhooks.pending)}
          note={webhooks.dueSince === null ? "none is late" : `the first since ${relative(webhooks.dueSince)}`}
        />
      </section>
      <section aria-label="Machine" className="stats">
        <Meter
          name="Load"
          used={machine.load}
          total={machine.cpus}
          note={`on ${machine.cpus} processors`}
          format={(value) => value.toFixed(1)}
        />
        <Meter name="Memory" used={machine.memoryBytes - machine.memoryFreeBytes} total={machine.memoryBytes} format={bytes} />
        <Meter name="Disk" used={machine.diskBytes - machine.diskFreeBytes} total={machine.diskBytes} format={bytes} />
      </section>
      <h2>Refusals by code</h2>
      {refusals.length === 0 ? (
        <p className="muted">No request was refused.</p>
      ) : (
        <table className="plain narrow">
          <thead>
            <tr>
              <th scope="col">Code</th>
              <th scope="col" className="number">
                Replies
              </th>
            </tr>
          </thead>
          <tbody>
            {refusals.map(({ code, count: replies }) => (
              <tr key={code}>
                <td className="mono">{code}</td>
                <td className="number">{count(replies)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

const creates = (number: number): string => (number === 1 ? "1 create" : `${count(number)} creates`);
