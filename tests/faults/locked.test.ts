import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { startBerth } from "../support/servers/berth.ts";

// Somebody's tool holds SQLite's lock and does not let go.
test("while the database is locked, calls that write say so, all others go on, and nothing is lost", async () => {
  await using berth = await startBerth({ BERTH_DRIVER: "process", BERTH_LOG_LEVEL: "error" });
  const session = await berth.api.create();
  const path = `/api/b2b/sessions/${session.sessionId}`;
  const tool = new DatabaseSync(join(berth.dataDir, "berth.db"));
  tool.exec("begin immediate");
  try {
    const attempt = async () => {
      const refused = [berth.api.call("POST", "/api/b2b/sessions", { externalUserId: "u" }), berth.api.call("POST", `${path}/pause`)];
      let answered = 0;
      for (const call of refused) void call.then(() => answered++);
      // Meanwhile, who reads or works in a sandbox notices nothing.
      expect((await berth.api.call("GET", path)).body).toMatchObject({ status: "running" });
      expect((await berth.api.exec(session.sandboxId, "echo here")).stdout).toBe("here\n");
      expect((await berth.api.call("GET", "/healthz")).status).toBe(200);
      const meanwhile = answered;
      for (const answer of await Promise.all(refused))
        expect(answer).toMatchObject({ status: 503, body: { error: "The database does not answer" } });
      return meanwhile;
    };
    // Who writes waits for five seconds; should the machine have stood still for as long, the next attempt tells.
    await expect.poll(attempt).toBe(0);
  } finally {
    tool.exec("rollback");
    tool.close();
  }
  expect((await berth.api.call("POST", `${path}/pause`)).body).toEqual({ status: "paused" });
  expect((await berth.api.call("POST", `${path}/resume`)).status).toBe(200);
  await berth.api.create();
});
