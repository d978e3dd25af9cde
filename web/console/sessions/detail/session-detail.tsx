import { useState } from "react";
import type { ConsoleSessionDetail } from "@berth/contract/console.ts";
import { useConsole } from "../../connection/context.ts";
import { useData } from "../../connection/use-data.ts";
import { Facts } from "../../parts/facts.tsx";
import { Failure } from "../../parts/failure.tsx";
import { dateTime, duration, relative } from "../../parts/format.ts";
import { Link } from "../../parts/link.tsx";
import { Status } from "../../parts/status.tsx";
import { SessionRuns } from "../../runs/session-runs.tsx";
import { SessionActions } from "./session-actions.tsx";
import { EgressList } from "./egress-list.tsx";
import { OpeningList } from "./opening-list.tsx";
import { SupportButton } from "./support-button.tsx";
import { SessionUse } from "./session-use.tsx";
import { TokenList } from "./token-list.tsx";
import { Timeline } from "./timeline.tsx";

const REFRESH_MS = 3000;

export function SessionDetail({ id }: { id: string }) {
  const {
    data: session,
    error,
    reload,
  } = useData<ConsoleSessionDetail>(`/sessions/${encodeURIComponent(id)}`, {}, { everyMs: REFRESH_MS });
  const [failure, setFailure] = useState<string | null>(null);
  return (
    <div className="page">
      <nav aria-label="Breadcrumb">
        <Link to={["sessions"]}>Sessions</Link>
      </nav>
      <div className="head">
        <h1 className="mono">{id}</h1>
        {session && <Status session={session} />}
        <span className="grow" />
        {session && <SupportButton session={session} onFailure={setFailure} />}
        {session && <SessionActions session={session} onDone={reload} onFailure={setFailure} />}
      </div>
      <Failure message={failure ?? error} />
      {session && (
        <>
          <SessionFacts session={session} />
          <SessionUse session={session} />
          <SessionRuns sessionId={id} />
          {session.status !== "destroyed" && <TokenList sessionId={id} />}
          <OpeningList sessionId={id} />
          <EgressList sessionId={id} />
          <Timeline session={session} />
        </>
      )}
    </div>
  );
}

function SessionFacts({ session }: { session: ConsoleSessionDetail }) {
  const { viewer } = useConsole();
  const {
    externalUserId,
    partnerId,
    sandboxId,
    template,
    driver,
    host,
    stopReason,
    createdAt,
    expiresAt,
    timeoutMs,
    idleTimeoutMs,
    source,
    setup,
    volumes,
    egress,
    metadata,
  } = session;
  return (
    <Facts
      facts={[
        ["User", externalUserId],
        ...(viewer.kind === "operator" ? [["Partner", <Link to={["partners", partnerId]}>{partnerId}</Link>] as const] : []),
        ["Sandbox", <span className="mono">{sandboxId}</span>],
        ["Template", template],
        ["Driver", host === null ? driver : `${driver} on ${host}`],
        ["Created", `${dateTime(createdAt)} (${relative(createdAt)})`],
        ["Ends", expiresAt === null ? "–" : `${dateTime(expiresAt)} (${relative(expiresAt)})`],
        ["Timeout", duration(timeoutMs) + (idleTimeoutMs === null ? "" : `, after ${duration(idleTimeoutMs)} without use`)],
        ...(source ? [["Source", `${source.from}: ${source.status}${source.reason ? ` (${source.reason})` : ""}`] as const] : []),
        ...(setup ? [["Setup", `${setup.status}${setup.exitCode === null ? "" : ` with exit code ${setup.exitCode}`}`] as const] : []),
        ...(egress === null ? [] : [["Egress", egress] as const]),
        ...volumes.map(({ name, path, mode }) => [`Volume ${name}`, `${path} (${mode})`] as const),
        ...(stopReason === null ? [] : [["Last stopped", stopReason] as const]),
        ...Object.entries(metadata).map(([name, value]) => [`metadata.${name}`, value] as const),
      ]}
    />
  );
}
