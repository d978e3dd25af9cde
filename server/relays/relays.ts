import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { SandboxId } from "@berth/contract";
import { runWork } from "../event-loop/loop-work.ts";

// A sandbox that calls a relay through its egress proxy.
export interface RelayCaller {
  sandboxId: SandboxId;
  // Counts a connection to the outside, and its bytes.
  count(visit: RelayVisit, outer: Socket): void;
  // Records a connection that serves several sandboxes, or an attempt. The result adds its bytes.
  note(visit: RelayVisit): (bytes: { sentBytes: number; receivedBytes: number }) => void;
}

// The upstream of a relay, for the egress log.
export interface RelayVisit {
  host: string;
  port: number;
  outcome: "allowed" | "refused" | "unreachable";
  // `model`, or `relay` and its name.
  rule: string;
}

export function visitOf(url: URL, rule: string): RelayVisit {
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  return { host: url.hostname.replace(/^\[|\]$/g, ""), port, outcome: "allowed", rule };
}

// Answers requests of sandboxes for an upstream whose credential only the server knows.
export interface Relay {
  // The first part of the path that the relay answers.
  readonly prefix: string;
  handle(request: IncomingMessage, response: ServerResponse, caller: RelayCaller): void;
}

// All relays behind one function for the egress proxy. False: the path belongs to no relay.
export function joinRelays(relays: readonly Relay[]): (request: IncomingMessage, response: ServerResponse, caller: RelayCaller) => boolean {
  const byPrefix = new Map(relays.map((relay) => [relay.prefix, { relay, work: { name: `${relay.prefix} relay` } }]));
  return (request, response, caller) => {
    const found = byPrefix.get((request.url ?? "").split("/", 2)[1] ?? "");
    if (!found) return false;
    runWork(found.work, () => found.relay.handle(request, response, caller));
    return true;
  };
}
