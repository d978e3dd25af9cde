import type { IncomingMessage, ServerResponse } from "node:http";
import { runWork } from "../event-loop/loop-work.ts";
import type { RelayCaller, Visit } from "../forwarding/relay-caller.ts";

// The upstream of a relay.
export function visitOf(url: URL, rule: string): Visit {
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
