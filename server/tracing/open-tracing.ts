import { hostname } from "node:os";
import { Counter, type Registry } from "prom-client";
import type { Config } from "../config/config.ts";
import type { Log } from "../log.ts";
import { createOtlpExporter } from "./otlp-exporter.ts";
import { createSampler } from "./sampler.ts";
import { createTracer, plainTracer, type Tracer } from "./tracer.ts";

export interface Tracing extends AsyncDisposable {
  tracer: Tracer;
}

export interface TracingDeps {
  config: TracingConfig;
  driver: string;
  registry: Registry;
  log: Log;
}

type TracingConfig = Pick<
  Config,
  | "otelDisabled"
  | "otlpEndpoint"
  | "otlpTracesEndpoint"
  | "otlpHeaders"
  | "otlpProtocol"
  | "otlpTimeoutMs"
  | "spanDelayMs"
  | "serviceName"
  | "resourceAttributes"
  | "tracesExporter"
  | "tracesSampler"
  | "tracesSamplerRatio"
>;

// Exports traces if the standard variables of OpenTelemetry name a collector.
export function openTracing({ config, driver, registry, log }: TracingDeps): Tracing {
  const url = config.otlpTracesEndpoint ?? (config.otlpEndpoint && `${config.otlpEndpoint}/v1/traces`);
  if (config.otelDisabled || config.tracesExporter === "none" || url === null)
    return { tracer: plainTracer, async [Symbol.asyncDispose]() {} };
  const exporter = createOtlpExporter({
    url,
    headers: config.otlpHeaders,
    // Berth does not speak gRPC: config.ts warns about it.
    encoding: config.otlpProtocol === "http/json" ? "json" : "protobuf",
    timeoutMs: config.otlpTimeoutMs,
    delayMs: config.spanDelayMs,
    resource: { "host.name": hostname(), "berth.driver": driver, ...config.resourceAttributes, "service.name": config.serviceName },
    log,
  });
  new Counter({
    name: "berth_trace_spans_total",
    help: "Spans for the OTLP collector, by outcome (exported, dropped, failed). Absent if traces are not exported",
    labelNames: ["outcome"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [outcome, count] of Object.entries(exporter.counters)) this.inc({ outcome }, count);
    },
  });
  const tracer = createTracer({ sample: createSampler(config.tracesSampler, config.tracesSamplerRatio), add: exporter.add });
  return { tracer, [Symbol.asyncDispose]: () => exporter[Symbol.asyncDispose]() };
}
