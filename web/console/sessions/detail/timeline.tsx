import type { ConsoleSessionDetail } from "@berth/contract/console.ts";
import { dateTime } from "../../parts/format.ts";

interface Entry {
  key: string;
  at: string;
  what: string;
  detail: string;
  requestId: string | null;
}

// The events of a session and the calls that people and programs made, newest first.
export function Timeline({ session }: { session: ConsoleSessionDetail }) {
  const entries: Entry[] = [
    ...session.events.map(({ id, type, at, reason }) => ({
      key: id,
      at,
      what: type,
      detail: reason === null ? "" : `reason: ${reason}`,
      requestId: null,
    })),
    ...session.audit.map(({ seq, at, actor, action, ip, requestId }) => ({
      key: String(seq),
      at,
      what: action,
      detail: `by ${actor}${ip === null ? "" : ` from ${ip}`}`,
      requestId,
    })),
  ].toSorted((a, b) => b.at.localeCompare(a.at));
  return (
    <>
      <h2>Timeline</h2>
      {entries.length === 0 && <p className="muted">Nothing is recorded.</p>}
      <ol className="timeline">
        {entries.map(({ key, at, what, detail, requestId }) => (
          <li key={key}>
            <time dateTime={at} className="muted">
              {dateTime(at)}
            </time>
            <span className="what">{what}</span>
            <span className="grow muted truncate">{detail}</span>
            {requestId !== null && (
              <span className="mono muted" title="Request id">
                {requestId}
              </span>
            )}
          </li>
        ))}
      </ol>
    </>
  );
}
