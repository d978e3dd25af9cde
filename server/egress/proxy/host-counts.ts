import type { SandboxId } from "@berth/contract";
import type { Clock } from "../../clock.ts";
import type { Visit } from "../../forwarding/relay-caller.ts";

export interface HostCount extends Visit {
  connections: number;
  sentBytes: number;
  receivedBytes: number;
  firstAt: number;
  lastAt: number;
}

export type Amounts = Pick<HostCount, "connections" | "sentBytes" | "receivedBytes">;

export interface HostCounts {
  add(sandboxId: SandboxId, visit: Visit, amounts: Amounts): void;
  // The counts since the last call.
  take(): Map<SandboxId, HostCount[]>;
}

// A sandbox can name any number of hosts. Further ones are counted together.
export const MAX_HOSTS = 200;
export const OTHER_HOSTS = "*";
const MAX_NAME = 253;

export function createHostCounts(clock: Pick<Clock, "now">): HostCounts {
  let bySandbox = new Map<SandboxId, Map<string, HostCount>>();

  function countOf(sandboxId: SandboxId, visit: Visit): HostCount {
    const counts = bySandbox.get(sandboxId) ?? new Map<string, HostCount>();
    bySandbox.set(sandboxId, counts);
    const known = counts.get(keyOf(visit));
    if (known) return known;
    const counted = counts.size < MAX_HOSTS ? visit : { outcome: visit.outcome, host: OTHER_HOSTS, port: 0, rule: "" };
    const count = counts.get(keyOf(counted)) ?? newCount(counted, clock.now());
    counts.set(keyOf(counted), count);
    return count;
  }

  return {
    add(sandboxId, { outcome, host, port, rule }, { connections, sentBytes, receivedBytes }) {
      const count = countOf(sandboxId, { outcome, host: host.slice(0, MAX_NAME), port, rule: rule.slice(0, 2 * MAX_NAME) });
      count.connections += connections;
      count.sentBytes += sentBytes;
      count.receivedBytes += receivedBytes;
      count.lastAt = clock.now();
    },
    take() {
      const taken = bySandbox;
      bySandbox = new Map();
      return new Map([...taken].map(([sandboxId, counts]) => [sandboxId, [...counts.values()]]));
    },
  };
}

const newCount = (visit: Visit, nowMs: number): HostCount => ({
  ...visit,
  connections: 0,
  sentBytes: 0,
  receivedBytes: 0,
  firstAt: nowMs,
  lastAt: nowMs,
});

const keyOf = ({ outcome, host, port, rule }: Visit): string => `${outcome} ${host} ${port} ${rule}`;
