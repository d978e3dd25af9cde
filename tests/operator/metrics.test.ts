import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import type { Session } from "@berth/contract";
import { startBerth, type Berth } from "../support/servers/berth.ts";

describe("metrics and traces of a server with sandboxes", () => {
  let berth: Berth;
  const received: Span[] = [];
  const deliveries: IncomingHttpHeaders[] = [];
  const receiver = createServer((request, response) => {
    deliveries.push(request.headers);
    response.end();
  });
  const collector = createServer((request, response) => {
    void text(request).then((body) => {
      const { resourceSpans } = JSON.parse(body) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] };
      received.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)));
      response.end("{}");
    });
  });
  beforeAll(async () => {
    berth = await startBerth({
      BERTH_DRIVER: "process",
      BERTH_POOL_SIZE: "1",
      BERTH_WEBHOOK_ALLOW_PRIVATE: "1",
      OTEL_EXPORTER_OTLP_ENDPOINT: await listen(collector),
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_HEADERS: "api-key=COLLECTOR-SECRET",
      OTEL_BSP_SCHEDULE_DELAY: "20",
    });
  });
  afterAll(async () => {
    receiver.close();
    collector.close();
    await berth?.[Symbol.asyncDispose]();
  });

  const scrape = async () => await (await fetch(`${berth.url}/metrics`)).text();
  const valueOf = (text: string, series: string) => {
    const line = text.split("\n").find((candidate) => candidate.startsWith(`${series} `));
    return line === undefined ? null : Number(line.slice(series.length + 1));
  };
  const until = (series: string, value: number) => expect.poll(async () => valueOf(await scrape(), series)).toBe(value);

  test("operations are measured by driver and start, and gauges show the pool, the sessions and the webhooks", async () => {
    const url = await listen(receiver);
    expect((await berth.api.call("POST", "/api/b2b/webhooks", { url })).status).toBe(201);

    await until('berth_sessions{state="warm"}', 1);
    const warm = await berth.api.create();
    // The pool holds one sandbox, so at least one of these gets none of it.
    await Promise.all([berth.api.create(), berth.api.create(), berth.api.create()]);
    await berth.api.exec(warm.sandboxId, "true");
    const path = `/api/b2b/sessions/${warm.sessionId}`;
    for (const action of ["pause", "resume"]) expect((await berth.api.call("POST", `${path}/${action}`)).status).toBe(200);
    expect((await berth.api.call("POST", "/api/b2b/sessions", {})).status).toBe(400);

    const operation = (name: string, start: string) =>
      `berth_session_operation_duration_seconds_count{operation="${name}",driver="process",start="${start}",outcome="ok"}`;
    const scraped = await scrape();
    expect(valueOf(scraped, operation("create", "warm"))).toBeGreaterThanOrEqual(1);
    expect(valueOf(scraped, operation("create", "cold"))).toBeGreaterThanOrEqual(1);
    expect(valueOf(scraped, operation("create", "warm"))! + valueOf(scraped, operation("create", "cold"))!).toBe(4);
    expect(valueOf(scraped, operation("pause", "none"))).toBe(1);
    expect(valueOf(scraped, operation("resume", "warm"))).toBe(1);
    expect(valueOf(scraped, 'berth_session_step_duration_seconds_count{step="pausing",driver="process",outcome="ok"}')).toBe(1);
    expect(valueOf(scraped, 'berth_pool_creates_total{template="default",found="warm"}')).toBeGreaterThanOrEqual(1);
    expect(valueOf(scraped, 'berth_pool_creates_total{template="default",found="none"}')).toBeGreaterThanOrEqual(1);
    expect(valueOf(scraped, 'berth_sessions{state="running"}')).toBe(4);
    expect(valueOf(scraped, 'berth_sandbox_request_duration_seconds_count{operation="exec",outcome="ok"}')).toBe(1);
    expect(valueOf(scraped, 'berth_http_errors_total{code="validation_failed"}')).toBe(1);
    expect(valueOf(scraped, "berth_nodejs_eventloop_lag_p99_seconds")).toBeGreaterThan(0);
    await until('berth_webhook_attempt_duration_seconds_count{outcome="delivered"}', 6);
    await until("berth_webhook_pending_deliveries", 0);
    expect(valueOf(await scrape(), 'berth_webhook_endpoints{state="healthy"}')).toBe(1);
  });

  test("a trace goes on from the partner's call through the session's steps to the daemon", async () => {
    const [traceId, callId, execId] = ["c0ffee".padEnd(32, "1"), "a".repeat(16), "b".repeat(16)];
    // The session has variables of its own, so that no sandbox of the pool is ready for it.
    const body = { externalUserId: "traced", envVars: { A: "1" } };
    const created = await berth.api.call("POST", "/api/b2b/sessions", body, { traceparent: `00-${traceId}-${callId}-01` });
    const { sandboxId } = created.body as Session;
    const exec = { command: "true" };
    await berth.api.call("POST", `/sandboxes/${sandboxId}/exec`, exec, { traceparent: `00-${traceId}-${execId}-01` });
    await berth.api.call("GET", "/healthz", undefined, { traceparent: `00-${traceId}-${execId}-00` });

    const ours = () => received.filter((span) => span.traceId === traceId);
    const find = (name: string) => ours().find((span) => span.name === name);
    await expect.poll(() => find("POST /sandboxes/{sandboxId}/exec")).toBeDefined();
    await expect.poll(() => find("POST /api/b2b/sessions")).toBeDefined();
    const call = find("POST /api/b2b/sessions")!;
    const step = find("session creating")!;
    expect(call).toMatchObject({ parentSpanId: callId, kind: 2 });
    expect(call.attributes).toContainEqual({ key: "berth.request_id", value: { stringValue: created.headers.get("x-request-id") } });
    expect(step.parentSpanId).toBe(call.spanId);
    const execution = find("POST /sandboxes/{sandboxId}/exec")!;
    expect(execution.parentSpanId).toBe(execId);
    const daemonSpans = ours().filter(({ name }) => name === "daemon POST");
    expect(daemonSpans.map(({ parentSpanId }) => parentSpanId)).toEqual([step.spanId, execution.spanId]);
    for (const span of ours()) expect(Number(span.endTimeUnixNano)).toBeGreaterThanOrEqual(Number(span.startTimeUnixNano));
    // The caller has decided that this one is not sampled.
    expect(find("GET /healthz")).toBeUndefined();

    const lineOf = (event: string) =>
      berth
        .output()
        .split("\n")
        .find((line) => line.includes(`"${event}"`) && line.includes(traceId));
    await expect.poll(() => lineOf("http.request")).toContain(call.spanId);
    await expect.poll(() => lineOf("gateway.request")).toContain(execution.spanId);
    await expect.poll(() => lineOf("session.creating.done")).toContain(call.spanId);
    expect(berth.output()).not.toContain("COLLECTOR-SECRET");
    // Attempts are traces of their own.
    const attempts = received.filter(({ name }) => name === "webhook attempt").map((span) => `00-${span.traceId}-${span.spanId}-01`);
    expect(attempts.length).toBeGreaterThan(0);
    expect(deliveries.map(({ traceparent }) => traceparent)).toEqual(expect.arrayContaining(attempts));
  });

  test("docs/monitoring.md describes every metric, and dashboard and alerts use only metrics and labels that exist", async () => {
    const scraped = await scrape();
    const help = new Map([...scraped.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name, meaning]) => [name!, meaning!]));
    const types = new Map([...scraped.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name!, type!]));
    const own = [...types].filter(([name]) => !/^berth_(process|nodejs)_/.test(name));
    const documented = read("docs/monitoring.md").match(/^\| `berth_\w+` \| (counter|gauge|histogram) \|.*$/gm);
    expect(documented?.toSorted()).toEqual(own.map(([name, type]) => `| \`${name}\` | ${type} | ${help.get(name)} |`).toSorted());

    const labelsOf = (metric: string) => {
      const samples = scraped.match(new RegExp(`^${metric}(\\{.*\\})? .*$`, "gm")) ?? [];
      return new Set(samples.flatMap((line) => [...line.matchAll(/(\w+)="/g)].map(([, label]) => label!)));
    };
    const series = new Set([...types].flatMap(([name, type]) => (type === "histogram" ? PARTS.map((part) => name + part) : [name])));
    const expressions = [...dashboardExpressions(), ...alerts().map(({ expr }) => expr)];
    expect(expressions.length).toBeGreaterThan(50);
    const faultsOf = (expression: string) => {
      const faults = [...expression.matchAll(/(berth_\w+)(?:\{([^}]*)\})?/g)].flatMap(([, metric = "", selector = ""]) => {
        if (!series.has(metric)) return [`${metric} does not exist`];
        // A metric without values yet shows no labels.
        const known = labelsOf(metric);
        const used = [...selector.matchAll(/(\w+)\s*(?:=|!)/g)].map(([, label]) => label!);
        return used
          .filter((label) => known.size > 0 && label !== "instance" && !known.has(label))
          .map((label) => `${metric} has no ${label}`);
      });
      return isBalanced(expression) ? faults : [...faults, `${expression} is not balanced`];
    };
    expect(expressions.flatMap(faultsOf)).toEqual([]);
    const named = [...read("docs/monitoring.md").matchAll(/`(Berth\w+)`/g)].map(([, name]) => name);
    expect(alerts().map(({ alert }) => alert)).toEqual([...new Set(named)].toSorted((a, b) => order(a!) - order(b!)));
  });
});

const PARTS = ["_bucket", "_sum", "_count"];
const BRACKETS = [
  ["(", ")"],
  ["{", "}"],
  ["[", "]"],
] as const;
const isBalanced = (expression: string) =>
  BRACKETS.every(([open, close]) => expression.split(open).length === expression.split(close).length);
const root = join(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(join(root, file), "utf8");

interface Alert {
  alert: string;
  expr: string;
}
const alerts = () => (parse(read("deploy/alerts.yml")) as { groups: { rules: Alert[] }[] }).groups.flatMap(({ rules }) => rules);
const order = (name: string) => alerts().findIndex(({ alert }) => alert === name);

interface Panel {
  id: number;
  type: string;
  gridPos: object;
  datasource?: { uid: string };
  targets?: { expr: string }[];
}

function dashboardExpressions(): string[] {
  const { panels, schemaVersion } = JSON.parse(read("deploy/grafana.json")) as { panels: Panel[]; schemaVersion: number };
  expect(schemaVersion).toBeGreaterThan(30);
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  return panels
    .filter(({ type }) => type !== "row")
    .flatMap(({ datasource, targets = [] }) => {
      expect(datasource?.uid).toBe("${datasource}");
      return targets.map(({ expr }) => expr);
    });
}

interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: object }[];
}

async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
