import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestClock } from "../../testing/test-clock.ts";
import { silentLog } from "../../log.ts";
import { sessionsSuite } from "../../sessions/sessions.suite.ts";
import { openStore } from "../../store/open.ts";
import { createMemorySessions } from "./memory-sessions.ts";

sessionsSuite("sessions in memory", async () => {
  const folder = await mkdtemp(join(tmpdir(), "berth-memory-sessions-"));
  const store = await openStore({ file: join(folder, "berth.db"), url: null, log: silentLog });
  const clock = createTestClock();
  return {
    sessions: createMemorySessions(store, clock),
    clock,
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
});
