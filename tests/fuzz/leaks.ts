import type { ServerSample } from "./target.ts";

const MiB = 1024 * 1024;
// Far above the difference between two idle moments, and far below a leak of one object per thousand cases in a long run.
const MAX_MORE_FILES = 20;
const MAX_MORE_RESOURCES = 40;
const MAX_MORE_HEAP_BYTES = 48 * MiB;

// The values that have grown between two idle moments of the server.
export function findLeaks({ early, late }: { early: ServerSample; late: ServerSample }): string[] {
  const count = ({ resources }: ServerSample) => Object.values(resources).reduce((sum, value) => sum + value, 0);
  const growths: [string, number, number, (value: number) => string][] = [
    ["open files", late.openFiles - early.openFiles, MAX_MORE_FILES, String],
    ["handles and requests", count(late) - count(early), MAX_MORE_RESOURCES, String],
    ["heap", late.heapBytes - early.heapBytes, MAX_MORE_HEAP_BYTES, (value) => `${Math.round(value / MiB)} MiB`],
  ];
  return growths
    .filter(([, growth, limit]) => growth > limit)
    .map(([what, growth, limit, show]) => `${what}: ${show(growth)} more, at most ${show(limit)} are allowed (${kindsOf(early, late)})`);
}

// The kinds that have grown.
function kindsOf(early: ServerSample, late: ServerSample): string {
  const more = Object.entries(late.resources).map(([kind, count]) => [kind, count - (early.resources[kind] ?? 0)] as const);
  return more
    .filter(([, growth]) => growth > 0)
    .map(([kind, growth]) => `${kind} +${growth}`)
    .join(", ");
}
