import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startBerth, type Berth } from "../support/servers/berth.ts";
import { sharedPostgres, type TestPostgres } from "../support/databases/postgres.ts";

// The database goes down and returns while partners call. Nothing is restarted and nothing is lost.
let postgres: TestPostgres;
let berth: Berth;
beforeAll(async () => {
  postgres = await sharedPostgres();
  berth = await startBerth({
    BERTH_DATABASE_URL: await postgres.createDatabase(),
    BERTH_MASTER_KEY: randomBytes(32).toString("hex"),
    BERTH_DRIVER: "process",
    BERTH_LOG_LEVEL: "error",
  });
});
afterAll(async () => {
  await berth?.[Symbol.asyncDispose]();
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
    const answer = await berth.api.call(method, path, method === "POST" && path.endsWith("sessions") ? { externalUserId: "u" } : undefined);
    expect({ path, status: answer.status }).toEqual({ path, status: 503 });
    expect(answer.body).toEqual({ error: "The database does not answer" });
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
