const UNITS: [name: string, seconds: number][] = [
  ["year", 365 * 86_400],
  ["month", 30 * 86_400],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];

// Such as "3 days ago".
export function formatAge(ageMs: number): string {
  for (const [name, seconds] of UNITS) {
    const count = Math.floor(ageMs / 1000 / seconds);
    if (count > 0) return `${count} ${name}${count === 1 ? "" : "s"} ago`;
  }
  return "just now";
}
