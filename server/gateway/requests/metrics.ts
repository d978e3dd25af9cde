import { Counter, Gauge, type Registry } from "prom-client";
import { countByLabels } from "../../metrics-by-labels.ts";

export interface GatewayMetrics {
  countResponse(area: string, status: number): void;
}

export function createGatewayMetrics(
  registry: Registry,
  open: { sockets: () => number; streams: () => number; responses: () => number },
): GatewayMetrics {
  new Gauge({
    name: "berth_gateway_open",
    help: "Open WebSockets, event streams of workspace pages, and responses in progress (including event streams)",
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
  return { countResponse: countByLabels(requests, (area: string, status: number) => ({ area, status })) };
}
