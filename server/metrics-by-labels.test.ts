import { Counter, Histogram, Registry } from "prom-client";
import { expect, test } from "vitest";
import { countByLabels, observeByLabels } from "./metrics-by-labels.ts";

const CALLS = [
  ["GET", 200, 0.003],
  ["GET", 200, 0.005],
  ["POST", 200, 7],
  ["GET", 404, 0.0001],
  ["GET", 200, 0.2],
] as const;

// The metrics that prom-client itself writes, and those that are observed by labels.
function openMetrics() {
  const registry = new Registry();
  const shared = { help: "help", labelNames: ["method", "status"] as const, registers: [registry] };
  return {
    registry,
    duration: new Histogram({ ...shared, name: "duration", buckets: [0.001, 0.005, 1] }),
    calls: new Counter({ ...shared, name: "calls" }),
  };
}

test("observations by labels are those of prom-client", async () => {
  const [plain, byLabels] = [openMetrics(), openMetrics()];
  const observe = observeByLabels(byLabels.duration, (method: string, status: number) => ({ method, status }));
  const count = countByLabels(byLabels.calls, (method: string, status: number) => ({ status, method }));
  for (const [method, status, seconds] of CALLS) {
    plain.duration.observe({ method, status }, seconds);
    plain.calls.inc({ status, method });
    observe(seconds, method, status);
    count(method, status);
  }
  expect(await byLabels.registry.metrics()).toBe(await plain.registry.metrics());
  expect(await byLabels.registry.metrics()).toContain('duration_bucket{le="0.005",method="GET",status="200"} 2');
});
