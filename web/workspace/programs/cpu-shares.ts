import type { ProgramList } from "@berth/contract/daemon/programs.ts";

// How much of one processor each program has used between two lists, by its id: 1 is all of one. Programs that only one of the lists has
// are missing.
export function cpuShares(before: ProgramList, now: ProgramList): Map<string, number> {
  const elapsedMs = Date.parse(now.at) - Date.parse(before.at);
  if (!(elapsedMs > 0)) return new Map();
  const running = new Set(now.programs.map(({ id }) => id));
  const addedMs = new Map<string, number>();
  // When a listener ends, the system adds all of its time to the program that has started it.
  for (const { id, parentId, cpuMs } of before.programs)
    if (parentId !== null && !running.has(id)) addedMs.set(parentId, (addedMs.get(parentId) ?? 0) + (cpuMs ?? 0));
  const beforeMs = new Map(before.programs.map(({ id, cpuMs }) => [id, cpuMs]));
  return new Map(
    now.programs.flatMap(({ id, cpuMs }) => {
      const from = beforeMs.get(id);
      // The sum falls when a process ends that the system adds to no other.
      return cpuMs === null || from == null ? [] : [[id, Math.max(0, cpuMs - from - (addedMs.get(id) ?? 0)) / elapsedMs]];
    }),
  );
}
