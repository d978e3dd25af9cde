import type { Socket } from "node:net";
import type { SandboxId } from "@berth/contract";

// Counts the bytes that sandboxes exchange with the outside.
export interface TrafficMeter {
  count(sandboxId: SandboxId, outer: Socket): void;
  // The bytes since the last call, also those of connections that are still open.
  take(): Map<SandboxId, Traffic>;
}

export interface Traffic {
  sentBytes: number;
  receivedBytes: number;
}

export function createTrafficMeter(): TrafficMeter {
  let counted = new Map<SandboxId, Traffic>();
  const open = new Set<{ sandboxId: SandboxId; outer: Socket } & Traffic>();

  function settle(connection: { sandboxId: SandboxId; outer: Socket } & Traffic): void {
    const { sandboxId, outer } = connection;
    const { bytesWritten, bytesRead } = outer;
    const total = counted.get(sandboxId) ?? { sentBytes: 0, receivedBytes: 0 };
    total.sentBytes += bytesWritten - connection.sentBytes;
    total.receivedBytes += bytesRead - connection.receivedBytes;
    if (total.sentBytes + total.receivedBytes > 0) counted.set(sandboxId, total);
    connection.sentBytes = bytesWritten;
    connection.receivedBytes = bytesRead;
  }

  return {
    count(sandboxId, outer) {
      const connection = { sandboxId, outer, sentBytes: 0, receivedBytes: 0 };
      open.add(connection);
      outer.once("close", () => {
        settle(connection);
        open.delete(connection);
      });
    },
    take() {
      for (const connection of open) settle(connection);
      const taken = counted;
      counted = new Map();
      return taken;
    },
  };
}
