import { Histogram, type Registry } from "prom-client";
import { SANDBOX_ROUTES } from "@berth/contract/routes/sandbox/sandbox-routes.ts";
import type { DaemonLinks } from "../../daemon-link/daemon-links.ts";
import { observeByLabels } from "../../metrics-by-labels.ts";

type Requests = Pick<DaemonLinks, "request">;

// Measures how long daemons take to begin their responses. The rest of a response may be a stream that lasts for hours.
export function measureResponses<Links extends Requests>(registry: Registry, links: Links): Links {
  const duration = new Histogram({
    name: "berth_sandbox_request_duration_seconds",
    help: "Time until a sandbox begins to answer a request that the gateway relays, by operation and outcome (ok, refused, failed)",
    labelNames: ["operation", "outcome"] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  });

  const observeSeconds = observeByLabels(duration, (operation: string, outcome: string) => ({ operation, outcome }));

  const request: Requests["request"] = async (sandboxId, linkRequest) => {
    const startedMs = performance.now();
    const observe = (outcome: string) => observeSeconds((performance.now() - startedMs) / 1000, operationOf(linkRequest.path), outcome);
    try {
      const response = await links.request(sandboxId, linkRequest);
      observe(response.status < 400 ? "ok" : response.status < 500 ? "refused" : "failed");
      return response;
    } catch (error) {
      // A caller that disconnects says nothing about the sandbox.
      if (!linkRequest.signal?.aborted) observe("failed");
      throw error;
    }
  };
  return { ...links, request };
}

// The first word of a path below `/sandboxes/{sandboxId}/` that the API describes. Others are not labels, because callers choose
// them.
const OPERATIONS = new Set(Object.values(SANDBOX_ROUTES).map(({ path }) => path.split("/")[3] ?? ""));

export function operationOf(path: string): string {
  if (path.startsWith("/ports/")) return "preview";
  const word = /^\/([a-z]+)/.exec(path)?.[1] ?? "";
  return OPERATIONS.has(word) ? word : "other";
}
