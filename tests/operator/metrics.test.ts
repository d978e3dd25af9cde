import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startBerth, type Berth } from "../support/servers/berth.ts";

describe("metrics of a server with sandboxes", () => {
  let berth: Berth;
  const receiver = createServer((_request, response) => response.end());
  beforeAll(async () => {
    berth = await startBerth({ BERTH_DRIVER: "process", BERTH_POOL_SIZE: "1", BERTH_WEBHOOK_ALLOW_PRIVATE: "1" });
  });
  afterAll(async () => {
    receiver.close();
    await berth?.[Symbol.asyncDispose]();
  });

  const scrape = async () => await (await fetch(`${berth.url}/metrics`)).text();
  const valueOf = (text: string, series: string) => {
    const line = text.split("\n").find((candidate) => candidate.startsWith(`${series} `));
    return line === undefined ? null : Number(line.slice(series.length + 1));
  };
  const until = (series: string, value: number) => expect.poll(async () => valueOf(await scrape(), series)).toBe(value);

  test("operations are measured by driver and start, and gauges show the pool, the sessions and the webhooks", async () => {
    receiver.listen(0, "127.0.0.1");
    await once(receiver, "listening");
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
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
    const text = await scrape();
    expect(valueOf(text, operation("create", "warm"))).toBeGreaterThanOrEqual(1);
    expect(valueOf(text, operation("create", "cold"))).toBeGreaterThanOrEqual(1);
    expect(valueOf(text, operation("create", "warm"))! + valueOf(text, operation("create", "cold"))!).toBe(4);
    expect(valueOf(text, operation("pause", "none"))).toBe(1);
    expect(valueOf(text, operation("resume", "warm"))).toBe(1);
    expect(valueOf(text, 'berth_session_step_duration_seconds_count{step="pausing",driver="process",outcome="ok"}')).toBe(1);
    expect(valueOf(text, 'berth_pool_creates_total{template="default",found="warm"}')).toBeGreaterThanOrEqual(1);
    expect(valueOf(text, 'berth_pool_creates_total{template="default",found="none"}')).toBeGreaterThanOrEqual(1);
    expect(valueOf(text, 'berth_sessions{state="running"}')).toBe(4);
    expect(valueOf(text, 'berth_sandbox_request_duration_seconds_count{operation="exec",outcome="ok"}')).toBe(1);
    expect(valueOf(text, 'berth_http_errors_total{code="validation_failed"}')).toBe(1);
    expect(valueOf(text, "berth_nodejs_eventloop_lag_p99_seconds")).toBeGreaterThan(0);
    await until('berth_webhook_attempt_duration_seconds_count{outcome="delivered"}', 6);
    await until("berth_webhook_pending_deliveries", 0);
    expect(valueOf(await scrape(), 'berth_webhook_endpoints{state="healthy"}')).toBe(1);
  });
});
