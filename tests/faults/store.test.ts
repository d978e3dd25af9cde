import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startBerth, type Berth } from "../support/servers/berth.ts";
import { openSeverableProxy, type SeverableProxy } from "../support/servers/severable-proxy.ts";
import { sharedPostgres, type TestPostgres } from "../support/databases/postgres.ts";

// The database goes down and returns while partners call. Nothing is restarted and nothing is lost.
let postgres: TestPostgres;
let proxy: SeverableProxy;
let berth: Berth;
beforeAll(async () => {
  postgres = await sharedPostgres();
  const url = new URL(await postgres.createDatabase());
  proxy = await openSeverableProxy(() => Number(url.port));
  berth = await startBerth({
    BERTH_DATABASE_URL: Object.assign(new URL(url), { port: String(proxy.port) }).href,
    BERTH_MASTER_KEY: randomBytes(32).toString("hex"),
    BERTH_DRIVER: "process",
    BERTH_LOG_LEVEL: "error",
  });
});
afterAll(async () => {
  await berth?.[Symbol.asyncDispose]();
  await proxy?.[Symbol.asyncDispose]();
  await postgres?.[Symbol.asyncDispose]();
});

test("while the database is down every call fails with store_unavailable, and works again afterwards", async () => {
  const session = await berth.api.create();
  await postgres.stop();

  const calls = [
    ["GET", `/api/b2b/sessions/${session.sessionId}`],
    ["POST", `/api/b2b/sessions/${session.sessionId}/pause`],
    ["DELETE", `/api/b2b/sessions/${session.sessionId}`],
    ["POST", "/api/b2b/sessions"],
  ] as const;
  for (const [method, path] of calls) {
    const response = await berth.api.call(
      method,
      path,
      method === "POST" && path.endsWith("sessions") ? { externalUserId: "u" } : undefined,
    );
    expect({ path, status: response.status }).toEqual({ path, status: 503 });
    expect(response.body).toEqual({ error: "The database does not answer" });
  }
  expect((await berth.api.call("GET", "/readyz")).status).toBe(503);
  expect((await berth.api.call("GET", "/healthz")).status).toBe(200);

  await postgres.start();
  await expect.poll(async () => (await berth.api.call("GET", "/readyz")).status).toBe(200);
  await expect
    .poll(async () => (await berth.api.call("GET", `/api/b2b/sessions/${session.sessionId}`)).body)
    .toMatchObject({ status: "running" });
  expect(await berth.api.exec(session.sandboxId, "echo still here")).toMatchObject({ stdout: "still here\n", code: 0 });
  await berth.api.create();
});

test("a loss of the database in any step of a session holds it up for seconds, and a repeated call succeeds", async () => {
  const steps = ["pause", "resume", "destroy"] as const;
  for (const step of steps)
    for (const afterMs of [3, 12]) {
      const { sessionId } = await berth.api.create({ autoStartAgent: false });
      const path = `/api/b2b/sessions/${sessionId}`;
      if (step === "resume") await berth.api.call("POST", `${path}/pause`);
      const call = () => (step === "destroy" ? berth.api.call("DELETE", path) : berth.api.call("POST", `${path}/${step}`));
      const first = call();
      await delay(afterMs);
      proxy.sever();
      expect([200, 503]).toContain((await first).status);
      proxy.restore();
      const restoredMs = performance.now();
      const done = { pause: "paused", resume: "running", destroy: "destroyed" }[step];
      // While the step is repeated, and when it is done, the call may be refused.
      const statusAfterCall = async () => (await call(), ((await berth.api.call("GET", path)).body as { status?: string }).status);
      await expect.poll(statusAfterCall, { timeout: 30_000, interval: 100 }).toBe(done);
      expect((await berth.api.call("DELETE", path)).status, `${step} after ${afterMs} ms`).toBe(200);
      // A lease lasts for a minute.
      expect(performance.now() - restoredMs, `${step} after ${afterMs} ms`).toBeLessThan(20_000);
    }
});
