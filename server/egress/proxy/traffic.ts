import type { Socket } from "node:net";
import type { SandboxId } from "@berth/contract";
import { systemClock, type Clock } from "../../clock.ts";
import type { Traffic, Visit } from "../../forwarding/relay-caller.ts";
import { createHostCounts, type HostCount } from "./host-counts.ts";

// Counts the bytes that sandboxes exchange with the outside, and with which hosts.
export interface TrafficMeter {
  count(sandboxId: SandboxId, visit: Visit, outer: Socket): void;
  // Counts an attempt that led to no connection, or a connection whose bytes the caller reports with the result.
  note(sandboxId: SandboxId, visit: Visit): (bytes: Traffic) => void;
  // The bytes since the last call, also those of connections that are still open.
  take(): Map<SandboxId, Traffic>;
  // The hosts of each sandbox since the last call.
  takeHosts(): Map<SandboxId, HostCount[]>;
}

interface Connection extends Traffic {
  sandboxId: SandboxId;
  visit: Visit;
  outer: Socket;
}

export function createTrafficMeter(clock: Pick<Clock, "now"> = systemClock): TrafficMeter {
  let counted = new Map<SandboxId, Traffic>();
  const hosts = createHostCounts(clock);
  const open = new Set<Connection>();

  function settle(connection: Connection): void {
    const { sandboxId, visit, outer } = connection;
    const { bytesWritten, bytesRead } = outer;
    const bytes = { sentBytes: bytesWritten - connection.sentBytes, receivedBytes: bytesRead - connection.receivedBytes };
    if (bytes.sentBytes + bytes.receivedBytes <= 0) return;
    const total = counted.get(sandboxId) ?? { sentBytes: 0, receivedBytes: 0 };
    total.sentBytes += bytes.sentBytes;
    total.receivedBytes += bytes.receivedBytes;
    counted.set(sandboxId, total);
    hosts.add(sandboxId, visit, { connections: 0, ...bytes });
    connection.sentBytes = bytesWritten;
    connection.receivedBytes = bytesRead;
  }

  function settleAll(): void {
    for (const connection of open) settle(connection);
  }

  return {
    count(sandboxId, visit, outer) {
      const connection = { sandboxId, visit, outer, sentBytes: 0, receivedBytes: 0 };
      hosts.add(sandboxId, visit, { connections: 1, sentBytes: 0, receivedBytes: 0 });
      open.add(connection);
      outer.once("close", () => {
        settle(connection);
        open.delete(connection);
      });
    },
    note(sandboxId, visit) {
      hosts.add(sandboxId, visit, { connections: 1, sentBytes: 0, receivedBytes: 0 });
      return (bytes) => hosts.add(sandboxId, visit, { connections: 0, ...bytes });
    },
    take() {
      settleAll();
      const taken = counted;
      counted = new Map();
      return taken;
    },
    takeHosts() {
      settleAll();
      return hosts.take();
    },
  };
}
