import type { ConsoleFinding, ConsoleList } from "@berth/contract/console.ts";
import { useData } from "../connection/use-data.ts";
import { Failure } from "../parts/failure.tsx";
import { Mark } from "../parts/status.tsx";

const WORDS = { good: "good", note: "note", bad: "bad" } as const;
const TINTS = { good: "good", note: "warn", bad: "bad" } as const;
const ORDER = ["bad", "note", "good"];

// The findings of `berth doctor`, the faults first, each with its cure.
export function HealthPage() {
  const { data, error, reload } = useData<ConsoleList<ConsoleFinding>>("/health");
  const findings = data?.data.toSorted((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state));
  return (
    <div className="page">
      <div className="head">
        <h1>Health</h1>
        <span className="muted" role="status">
          {findings ? summaryOf(findings) : "Checking …"}
        </span>
        <span className="grow" />
        <button type="button" className="button" onClick={() => void reload()}>
          Check again
        </button>
      </div>
      <Failure message={error} />
      {findings && (
        <ul className="findings">
          {findings.map(({ topic, state, text, cure }) => (
            <li key={`${topic} ${text}`}>
              <Mark tint={TINTS[state]}>{WORDS[state]}</Mark>
              <span className="topic">{topic}</span>
              <div className="grow wrap">
                {text}
                {cure !== null && <p className="cure">{cure}</p>}
              </div>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function summaryOf(findings: readonly ConsoleFinding[]): string {
  const bad = findings.filter(({ state }) => state === "bad").length;
  const notes = findings.filter(({ state }) => state === "note").length;
  return bad === 0 && notes === 0 ? "Everything works." : `${bad} bad, ${notes} to note`;
}
