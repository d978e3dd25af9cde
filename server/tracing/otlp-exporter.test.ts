import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { silentLog } from "../log.ts";
import { createOtlpExporter, type OtlpExporterOptions } from "./otlp-exporter.ts";
import { encodeSpansAsProtobuf } from "./otlp-protobuf.ts";
import { recordedSpan, type SpanRecord } from "./span.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function listen(listener: (...call: Parameters<RequestListener>) => unknown): Promise<string> {
  const server = createServer((...call) => void listener(...call)).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const logged: unknown[] = [];
const open = (url: string, options: Partial<OtlpExporterOptions> = {}) =>
  createOtlpExporter({
    url,
    headers: { "api-key": "SECRET" },
    encoding: "json",
    timeoutMs: 5_000,
    delayMs: 5,
    resource: { "service.name": "berth" },
    log: { ...silentLog, warn: (event, fields) => void logged.push([event, fields]) },
    ...options,
  });

function spans(count: number): SpanRecord[] {
  const records: SpanRecord[] = [];
  for (let n = 0; n < count; n++)
    recordedSpan({ traceId: "a".repeat(32), parentSpanId: null, name: `span ${n}`, kind: "server" }, (record) =>
      records.push(record),
    ).end();
  return records;
}

interface Body {
  resourceSpans: { resource: object; scopeSpans: { spans: { name: string; startTimeUnixNano: string; attributes: object[] }[] }[] }[];
}
const spansOf = async (request: IncomingMessage) => (JSON.parse(await text(request)) as Body).resourceSpans[0]!.scopeSpans[0]!.spans;

test("spans arrive in batches as OTLP in JSON, with the configured headers, and a busy collector is asked again", async () => {
  const received: string[] = [];
  let calls = 0;
  const url = await listen(async (request, response) => {
    const batch = await spansOf(request);
    expect(request.headers).toMatchObject({ "content-type": "application/json", "api-key": "SECRET" });
    expect(batch[0]).toMatchObject({ traceId: "a".repeat(32), kind: 2, status: {} });
    expect(Number(batch[0]!.startTimeUnixNano) / 1e6).toBeGreaterThan(Date.now() - 60_000);
    calls++;
    if (calls === 1) return void response.writeHead(503).end();
    received.push(...batch.map(({ name }) => name));
    response.end("{}");
  });
  const exporter = open(`${url}/v1/traces`);
  const records = spans(600);
  for (const record of records) exporter.add(record);
  await expect.poll(() => exporter.counters).toEqual({ exported: 600, dropped: 0, failed: 0 });
  await exporter[Symbol.asyncDispose]();
  expect(received).toEqual(records.map(({ name }) => name));
  expect(calls).toBe(4);
});

test("spans arrive in protobuf as the encoder writes them", async () => {
  const received: { headers: IncomingHttpHeaders; body: Buffer }[] = [];
  const url = await listen(async (request, response) => {
    received.push({ headers: request.headers, body: await buffer(request) });
    response.end();
  });
  const exporter = open(url, { encoding: "protobuf" });
  const records = spans(3);
  for (const record of records) exporter.add(record);
  await exporter[Symbol.asyncDispose]();
  expect(exporter.counters).toEqual({ exported: 3, dropped: 0, failed: 0 });
  expect(received.map(({ body }) => body)).toEqual([encodeSpansAsProtobuf(records, { "service.name": "berth" })]);
  expect(received[0]!.headers).toMatchObject({ "content-type": "application/x-protobuf", "api-key": "SECRET" });
});

test("if a collector refuses, redirects or does not exist, only the spans are lost, and no secret is logged", async () => {
  const elsewhere: unknown[] = [];
  const other = await listen((request, response) => response.end(void elsewhere.push(request.headers)));
  const redirect = await listen((_request, response) => response.writeHead(307, { location: other }).end());
  const refusal = await listen((_request, response) => response.writeHead(401).end("x".repeat(1_000_000)));
  logged.length = 0;
  for (const url of [redirect, refusal, "http://127.0.0.1:1"]) {
    const exporter = open(url);
    for (const record of spans(3)) exporter.add(record);
    await expect.poll(() => exporter.counters).toEqual({ exported: 0, dropped: 0, failed: 3 });
    await exporter[Symbol.asyncDispose]();
  }
  expect(elsewhere).toEqual([]);
  const reasons = logged.map((entry) => (entry as [string, { reason: string }])[1].reason);
  expect(reasons).toEqual(["status 307", "status 401", "ECONNREFUSED"]);
  expect(JSON.stringify(logged)).not.toContain("SECRET");
});

test("a collector that never ends its response does not hold up the next batch", async () => {
  let calls = 0;
  const url = await listen((request, response) => {
    request.resume();
    calls++;
    response.writeHead(200).write("{");
  });
  const exporter = open(url, { timeoutMs: 50 });
  for (const record of spans(300)) exporter.add(record);
  await expect.poll(() => exporter.counters.exported).toBe(300);
  expect(calls).toBeGreaterThanOrEqual(2);
  await exporter[Symbol.asyncDispose]();
});

test("a hanging collector fills a bounded queue, and the server still stops", async () => {
  const url = await listen((request) => void request.resume());
  const exporter = open(url, { timeoutMs: 60_000, closingMs: 50 });
  for (const record of spans(5000)) exporter.add(record);
  // One batch is on its way.
  expect(exporter.counters).toEqual({ exported: 0, dropped: 5000 - 2048 - 256, failed: 0 });
  await exporter[Symbol.asyncDispose]();
  const { exported, dropped, failed } = exporter.counters;
  expect([exported, dropped + failed]).toEqual([0, 5000]);
  exporter.add(spans(1)[0]!);
  expect(exporter.counters.dropped).toBe(dropped + 1);
});
