interface Props {
  title: string;
  // The first day, and the first one after the last.
  from: string;
  to: string;
  // Only days that have a value.
  days: readonly { day: string; value: number }[];
  format: (value: number) => string;
}

const DAY_MS = 86_400_000;
const WIDTH = 900;
const HEIGHT = 120;

// Bars, one for each day. Screen readers get the sum and the largest day instead.
export function DayPlot({ title, from, to, days, format }: Props) {
  const values = new Map(days.map(({ day, value }) => [day, value]));
  const all = daysBetween(from, to);
  const largest = Math.max(...days.map(({ value }) => value), 0);
  const sum = days.reduce((total, { value }) => total + value, 0);
  const step = WIDTH / all.length;
  const peak = days.find(({ value }) => value === largest);
  const summary = `${title}: ${format(sum)} in all${peak && largest > 0 ? `, most on ${peak.day} with ${format(largest)}` : ""}`;
  return (
    <figure className="plot card">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={summary}>
        {all.map((day, at) => {
          const value = values.get(day) ?? 0;
          const height = largest === 0 ? 0 : Math.max(value > 0 ? 2 : 0, (value / largest) * HEIGHT);
          return (
            <rect key={day} x={at * step + 2} y={HEIGHT - height} width={Math.max(1, step - 4)} height={height}>
              <title>{`${day}: ${format(value)}`}</title>
            </rect>
          );
        })}
      </svg>
      <figcaption className="muted">
        <span>{all[0]}</span>
        <span>{summary}</span>
        <span>{all.at(-1)}</span>
      </figcaption>
    </figure>
  );
}

function daysBetween(from: string, to: string): string[] {
  const [first, end] = [Date.parse(from), Date.parse(to)];
  return Array.from({ length: Math.round((end - first) / DAY_MS) }, (_, at) => new Date(first + at * DAY_MS).toISOString().slice(0, 10));
}
