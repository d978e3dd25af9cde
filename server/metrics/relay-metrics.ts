import { Counter, type Registry } from "prom-client";
import type { RelayedRequest } from "../relays/session/session-relay.ts";

// Partners that get time series of their own; the others share one. Partners are created by operators, but there may be thousands.
const MAX_PARTNERS = 20;

export function registerRelayMetrics(registry: Registry): (request: RelayedRequest) => void {
  const requests = new Counter({
    name: "berth_relay_requests_total",
    help: "Requests of sandboxes to relays, by relay (git, the name of a template's, or session), partner and outcome (passed_on, refused)",
    labelNames: ["relay", "partner", "outcome"],
    registers: [registry],
  });
  const bytes = new Counter({
    name: "berth_relay_bytes_total",
    help: "Bytes of bodies that relays passed on, by relay, partner and direction (sent, received)",
    labelNames: ["relay", "partner", "direction"],
    registers: [registry],
  });
  const partners = new Set<string>();
  const labelOf = (partnerId: string | null): string => {
    if (partnerId === null) return "other";
    if (partners.size < MAX_PARTNERS) partners.add(partnerId);
    return partners.has(partnerId) ? partnerId : "other";
  };
  return ({ partnerId, relay, outcome, sentBytes, receivedBytes }) => {
    const partner = labelOf(partnerId);
    requests.inc({ relay, partner, outcome });
    bytes.inc({ relay, partner, direction: "sent" }, sentBytes);
    bytes.inc({ relay, partner, direction: "received" }, receivedBytes);
  };
}
