import { anyText, assignments, collectorUrl, flag, headerAssignments, oneOf, ratio, wholeNumber } from "../kinds.ts";
import { variable } from "../variable.ts";

// The names and defaults are OpenTelemetry's. Traces are off unless an endpoint is set.
export const TRACING_VARIABLES = {
  otlpEndpoint: variable<string | null>({
    name: "OTEL_EXPORTER_OTLP_ENDPOINT",
    kind: collectorUrl,
    default: null,
    defaultHelp: "traces are not exported",
    help: "OTLP collector to which traces are exported, such as http://localhost:4318. `/v1/traces` is appended.",
  }),
  otlpTracesEndpoint: variable<string | null>({
    name: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    kind: collectorUrl,
    default: null,
    defaultHelp: "`/v1/traces` at the endpoint",
    help: "The full address to which traces are exported.",
  }),
  otlpHeaders: variable<Readonly<Record<string, string>>>({
    name: "OTEL_EXPORTER_OTLP_HEADERS",
    kind: headerAssignments,
    default: {},
    defaultHelp: "none",
    secret: true,
    help: "Headers for the collector, such as api-key=secret, separated by commas and percent-encoded.",
  }),
  otlpProtocol: variable({
    name: "OTEL_EXPORTER_OTLP_PROTOCOL",
    kind: oneOf("http/protobuf", "http/json", "grpc"),
    default: "http/protobuf",
    help: "How traces are encoded: `http/protobuf` or `http/json`. Berth does not speak `grpc`: it warns and sends `http/protobuf`.",
  }),
  otlpTimeoutMs: variable({
    name: "OTEL_EXPORTER_OTLP_TIMEOUT",
    kind: wholeNumber(1, 60_000),
    default: 10_000,
    help: "Milliseconds that the collector has for its response. `0` is refused.",
  }),
  spanDelayMs: variable({
    name: "OTEL_BSP_SCHEDULE_DELAY",
    kind: wholeNumber(1, 60_000),
    default: 5_000,
    help: "Milliseconds for which spans are gathered before they are sent together. `0` is refused.",
  }),
  tracesSampler: variable({
    name: "OTEL_TRACES_SAMPLER",
    kind: oneOf("parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio", "always_on", "always_off", "traceidratio"),
    default: "parentbased_always_on",
    help: "Which traces are exported. `parentbased_` follows the decision of callers that send a `traceparent`.",
  }),
  tracesSamplerRatio: variable({
    name: "OTEL_TRACES_SAMPLER_ARG",
    kind: ratio,
    default: 1,
    help: "The share of traces that the `traceidratio` samplers export. `0` exports none of them.",
  }),
  tracesExporter: variable({
    name: "OTEL_TRACES_EXPORTER",
    kind: oneOf("otlp", "none"),
    default: "otlp",
    help: "`none` turns the export of traces off.",
  }),
  otelDisabled: variable({
    name: "OTEL_SDK_DISABLED",
    kind: flag,
    default: false,
    help: "Turns the export of traces off.",
  }),
  serviceName: variable({
    name: "OTEL_SERVICE_NAME",
    kind: anyText,
    default: "berth",
    help: "The name of this service in traces.",
  }),
  resourceAttributes: variable<Readonly<Record<string, string>>>({
    name: "OTEL_RESOURCE_ATTRIBUTES",
    kind: assignments,
    default: {},
    defaultHelp: "none",
    help: "Attributes of this service in traces, such as deployment.environment=production, separated by commas.",
  }),
};
