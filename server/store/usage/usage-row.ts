import type { UsageGroup } from "@berth/contract";
import type { TimeKind } from "./time.ts";

// Usage of one group. Only the names of the group are present.
export interface UsageRow {
  day?: number;
  sessionId?: string;
  externalUserId?: string;
  template?: string;
  ms: Record<TimeKind, number>;
  cpuMs: number;
  memory: Measured;
  disk: Measured;
  egressBytes: number;
  ingressBytes: number;
  inputTokens: number;
  outputTokens: number;
}

// Samples of a size in bytes.
export interface Measured {
  peak: number;
  sum: number;
  samples: number;
}

export const GROUP_FIELDS = {
  day: "day",
  session: "sessionId",
  user: "externalUserId",
  template: "template",
} as const satisfies Record<UsageGroup, keyof UsageRow>;

export const emptyRow = (names: Pick<UsageRow, "day" | "sessionId" | "externalUserId" | "template"> = {}): UsageRow => ({
  ...names,
  ms: { running: 0, paused: 0, hibernated: 0 },
  cpuMs: 0,
  memory: { peak: 0, sum: 0, samples: 0 },
  disk: { peak: 0, sum: 0, samples: 0 },
  egressBytes: 0,
  ingressBytes: 0,
  inputTokens: 0,
  outputTokens: 0,
});

export const byGroups = (groups: readonly UsageGroup[]) => (a: UsageRow, b: UsageRow) => {
  for (const group of groups) {
    const [one, other] = [a[GROUP_FIELDS[group]] ?? "", b[GROUP_FIELDS[group]] ?? ""];
    if (one !== other) return one < other ? -1 : 1;
  }
  return 0;
};
