import { Counter, Gauge, type Registry } from "prom-client";

// The gateway's numbers for the operator.
export interface GatewayMetrics {
  answered(area: string, status: number): void;
}

export function createGatewayMetrics(
  registry: Registry,
  open: { sockets: () => number; streams: () => number; answers: () => number },
): GatewayMetrics {
  new Gauge({
    name: "berth_gateway_open",
    help: "What is under way: WebSockets, event streams of pages, and all answers (streams among them)",
    labelNames: ["kind"],
    registers: [registry],
    collect() {
      for (const [kind, count] of Object.entries(open)) this.set({ kind }, count());
    },
  });
  const requests = new Counter({
    name: "berth_gateway_requests_total",
    help: "Requests that the gateway has answered, by area and status",
    labelNames: ["area", "status"],
    registers: [registry],
  });
  return { answered: (area, status) => requests.inc({ area, status }) };
}
