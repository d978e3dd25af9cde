import { connect } from "node:net";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../clock.ts";
import { createLog } from "../../log.ts";
import { createMemorySessions } from "../testing/memory-sessions.ts";
import { startTestApp } from "../testing/test-app.ts";

describe("operations", () => {
  test("health and readiness differ: a draining server is healthy but not ready", async () => {
    await using app = await startTestApp();
    const check = async (path: string) => {
      const { status, text: body } = await app.call("GET", path, { key: null });
      return [status, body];
    };
    expect(await check("/healthz")).toEqual([200, '{"status":"ok"}']);
    expect(await check("/readyz")).toEqual([200, '{"status":"ready"}']);
    app.app.drain();
    expect(await check("/healthz")).toEqual([200, '{"status":"ok"}']);
    expect(await check("/readyz")).toEqual([503, '{"error":"The service is shutting down"}']);
  });

  test("each request is one log line without keys, queries, ids or environment variables", async () => {
    let lines = "";
    const sink = new Writable({
      write(chunk: Buffer, _encoding, done) {
        lines += chunk.toString();
        done();
      },
    });
    await using app = await startTestApp({ log: createLog("info", sink) });
    lines = "";
    const created = await app.call("POST", "/api/b2b/sessions?sig=QUERYSECRET", {
      body: { externalUserId: "user", envVars: { TOKEN: "ENVSECRET" } },
      headers: { cookie: "c=COOKIESECRET" },
    });
    await app.call("GET", "/healthz", { key: null });
    await app.call("GET", "/readyz", { key: null });
    await app.call("GET", "/api/b2b/sessions/IDSECRET");
    app.app.drain();
    await app.call("GET", "/readyz", { key: null });
    await app.call("GET", "/nowhere", { key: null });
    const [first, second, ...others] = lines
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(first).toMatchObject({ msg: "http.request", method: "POST", route: "/api/b2b/sessions", status: 201, partner: "acme" });
    expect(first!.requestId).toBe(created.headers.get("x-request-id"));
    expect(second).toMatchObject({ method: "GET", route: "/api/b2b/sessions/:id", status: 404 });
    // Only failed probes are logged.
    expect(others.filter(({ msg }) => msg === "http.request")).toMatchObject([{ route: "/readyz", status: 503 }, { status: 404 }]);
    expect(lines).not.toMatch(/SECRET|berth_/);
  });

  test("log lines carry the caller's trace, and a new one if its header is absent or malformed", async () => {
    const lines: Record<string, unknown>[] = [];
    const sink = new Writable({
      write(chunk: Buffer, _encoding, done) {
        for (const line of chunk.toString().trim().split("\n")) lines.push(JSON.parse(line) as Record<string, unknown>);
        done();
      },
    });
    const failing = { read: () => Promise.reject(new Error("broken")) };
    await using plain = await startTestApp();
    await using app = await startTestApp({ log: createLog("info", sink), sessions: { ...plain.sessions, ...failing } });
    lines.length = 0;
    const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
    for (const traceparent of [`00-${traceId}-00f067aa0ba902b7-01`, `00-${traceId}-00f067aa0ba902b7-01-${"x".repeat(8000)}`, "x"])
      await app.call("GET", "/api/b2b/sessions/x", { headers: { traceparent } });
    const traces = lines.map(({ msg, traceId: id, spanId }) => [msg, id === traceId, String(id).length, String(spanId).length]);
    expect(traces).toEqual([true, false, false].flatMap((own) => ["http.failed", "http.request"].map((msg) => [msg, own, 32, 16])));
    expect(new Set(lines.map(({ spanId }) => spanId)).size).toBe(3);
    expect(lines[0]!.spanId).not.toBe("00f067aa0ba902b7");
    expect(JSON.stringify(lines)).not.toContain("xxx");
  });

  test("metrics are readable from this machine only, or with the token", async () => {
    const token = "t".repeat(16);
    {
      await using app = await startTestApp({ baseUrl: "http://localhost:8080" });
      await app.call("GET", "/healthz");
      expect((await app.call("GET", "/metrics", { key: null })).text).toMatch(
        /berth_http_request_duration_seconds_count\{method="GET",route="\/healthz",status="200"\} 1/,
      );
      expect((await app.call("GET", "/metrics", { key: null, headers: { "x-forwarded-for": "192.0.2.1" } })).status).toBe(403);
      // A website that pointed its own name to this machine.
      const rebound = connect(app.port, "127.0.0.1").end("GET /metrics HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n");
      expect(await text(rebound)).toMatch(/^HTTP\/1\.1 403 /);
    }
    {
      // A proxy may hide the address of its client.
      await using app = await startTestApp({ baseUrl: "https://berth.example" });
      const refused = await app.call("GET", "/metrics", { key: null });
      expect([refused.status, refused.text]).toEqual([403, expect.stringContaining("BERTH_METRICS_TOKEN")]);
    }
    await using app = await startTestApp({ metricsToken: token });
    expect((await app.call("GET", "/metrics", { key: null })).status).toBe(401);
    expect((await app.call("GET", "/metrics", { key: token })).status).toBe(200);
  });
});

describe("shutdown and failures", () => {
  test("shutdown completes requests in flight and refuses new connections", async () => {
    const gate = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    await using plain = await startTestApp();
    const sessions = createMemorySessions(plain.store, systemClock);
    const slow = {
      ...sessions,
      create: async (...args: Parameters<typeof sessions.create>) => (entered.resolve(), await gate.promise, sessions.create(...args)),
    };
    const app = await startTestApp({ sessions: slow });
    const response = app.call("POST", "/api/b2b/sessions", { body: { externalUserId: "u" } });
    await entered.promise;
    const closed = app[Symbol.asyncDispose]();
    const refusal = async () => (await fetch(app.base).catch((error: Error) => error.cause)) as { code?: string };
    await expect.poll(refusal).toMatchObject({ code: "ECONNREFUSED" });
    gate.resolve();
    expect((await response).status).toBe(201);
    await closed;
  });

  test("an unexpected error becomes a 500 without internals", async () => {
    await using plain = await startTestApp();
    const sessions = { ...plain.sessions, read: () => Promise.reject(new Error("connect to 10.0.0.1 with password")) };
    await using app = await startTestApp({ sessions });
    const { status, text: body, headers } = await app.call("GET", "/api/b2b/sessions/x");
    expect([status, body, headers.get("x-error-code")]).toEqual([500, '{"error":"Something went wrong on our side"}', "internal"]);
  });

  test("a client that disconnects while sending its body does no harm", async () => {
    await using app = await startTestApp();
    const socket = connect(app.port, "127.0.0.1");
    socket.write(
      `POST /api/b2b/sessions HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${app.key}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"ext`,
    );
    socket.end();
    await text(socket).catch(() => "");
    expect((await app.call("GET", "/healthz")).status).toBe(200);
  });
});
