// Numbers and times for people.

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
] as const;

// "5 min", "23 h".
export function duration(ms: number): string {
  const [unit, length] = UNITS.find(([, unitMs]) => Math.abs(ms) >= unitMs) ?? UNITS.at(-1)!;
  return `${Math.round(Math.abs(ms) / length)} ${unit}`;
}

// Formats a time as people write it in forms: "30m". Empty if there is none.
export function durationText(ms: number | null): string {
  if (ms === null) return "";
  const [unit, length] = UNITS.find(([, unitMs]) => ms % unitMs === 0) ?? ["s", 1000];
  return `${ms / length}${unit[0]}`;
}

// "5 min ago", "in 23 h".
export function relative(iso: string | null, nowMs = Date.now()): string {
  if (iso === null) return "–";
  const ms = Date.parse(iso) - nowMs;
  if (Math.abs(ms) < 1000) return "now";
  return ms < 0 ? `${duration(ms)} ago` : `in ${duration(ms)}`;
}

export const dateTime = (iso: string | null): string =>
  iso === null ? "–" : new Date(iso).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });

const SIZES = ["B", "kB", "MB", "GB", "TB"];

export function bytes(count: number): string {
  const power = Math.min(SIZES.length - 1, count < 1 ? 0 : Math.floor(Math.log10(count) / 3));
  const value = count / 1000 ** power;
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${SIZES[power]}`;
}

export const count = (value: number): string => value.toLocaleString("en");

// Less than a second is shown in milliseconds.
export const seconds = (value: number): string => (value < 1 ? `${Math.round(value * 1000)} ms` : `${value.toFixed(1)} s`);

// The end of an id, which differs between rows. Its beginning is the time.
export const shortId = (id: string): string => (id.length > 16 ? `${id.slice(0, 4)}…${id.slice(-8)}` : id);
