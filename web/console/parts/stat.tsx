import type { ReactNode } from "react";

// One number with its name.
export const Stat = ({ name, value, note, link }: { name: string; value: string; note?: string; link?: ReactNode }) => (
  <div className="card stat">
    <span className="muted">{name}</span>
    <strong>{value}</strong>
    <span className="note muted">
      {note} {link}
    </span>
  </div>
);

interface MeterProps {
  name: string;
  used: number;
  total: number;
  // Shown instead of what is left.
  note?: string;
  format: (value: number) => string;
}

// How much of a limit is used.
export function Meter({ name, used, total, note, format }: MeterProps) {
  const share = total === 0 ? 0 : used / total;
  return (
    <div className="card stat">
      <span className="muted">{name}</span>
      <strong>{format(used)}</strong>
      <progress aria-label={name} value={Math.min(1, share)} max={1} data-tint={share > 0.9 ? "bad" : share > 0.75 ? "warn" : "good"} />
      <span className="note muted">{note ?? `of ${format(total)}, ${format(Math.max(0, total - used))} left`}</span>
    </div>
  );
}
