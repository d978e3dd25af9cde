import type { ChangeHunk } from "@berth/contract/agent.ts";

const MAX_LINES = 60;

export function HunkLines({ hunk: { lines, hiddenLines = 0 }, label }: { hunk: ChangeHunk; label: string }) {
  const more = Math.max(0, lines.length - MAX_LINES) + hiddenLines;
  return (
    <pre tabIndex={0} aria-label={label}>
      {lines.slice(0, MAX_LINES).map(({ kind, text }, index) => (
        <div key={index} className={kind}>
          {{ added: "+", removed: "−", same: " " }[kind]} {text}
        </div>
      ))}
      {more > 0 && <div className="gap">… {more} more lines</div>}
    </pre>
  );
}
