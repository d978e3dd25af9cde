import type { Socket } from "node:net";
import type { SandboxId } from "@berth/contract";

// A sandbox that calls a relay through its egress proxy.
export interface RelayCaller {
  sandboxId: SandboxId;
  // Counts a connection to the outside, and its bytes.
  count(visit: Visit, outer: Socket): void;
  // Records a connection that serves several sandboxes, or an attempt. The result adds its bytes.
  note(visit: Visit): (bytes: Traffic) => void;
}

// A sandbox's connection to a host, or its attempt, for the egress log.
export interface Visit {
  host: string;
  port: number;
  outcome: "allowed" | "refused" | "unreachable";
  // Why it was allowed, refused or failed. For a relay: `model`, or `relay` and its name.
  rule: string;
}

export interface Traffic {
  sentBytes: number;
  receivedBytes: number;
}
