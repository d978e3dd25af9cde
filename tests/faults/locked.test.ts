import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { startBerth } from "../support/servers/berth.ts";

// Another tool holds SQLite's lock.
test("while the database is locked, writing calls fail with store_unavailable, all others work, and nothing is lost", async () => {
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
      // Reads and sandboxes are not affected.
      expect((await berth.api.call("GET", path)).body).toMatchObject({ status: "running" });
      expect((await berth.api.exec(session.sandboxId, "echo here")).stdout).toBe("here\n");
      expect((await berth.api.call("GET", "/healthz")).status).toBe(200);
      const meanwhile = answered;
      for (const response of await Promise.all(refused))
        expect(response).toMatchObject({ status: 503, body: { error: "The database does not answer" } });
      return meanwhile;
    };
    // A write waits for five seconds. If the machine stalls for that long, the next attempt decides.
    await expect.poll(attempt).toBe(0);
  } finally {
    tool.exec("rollback");
    tool.close();
  }
  expect((await berth.api.call("POST", `${path}/pause`)).body).toEqual({ status: "paused" });
  expect((await berth.api.call("POST", `${path}/resume`)).status).toBe(200);
  await berth.api.create();
});
