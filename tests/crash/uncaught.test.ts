import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "vitest";
import { prepareBerth, startBerth, type Berth } from "../support/servers/berth.ts";
import { daemonRuntime } from "../support/runtime.ts";

// The last test waits for the server's patience, so the others run meanwhile. Their polls need the test's own expect.
describe.concurrent.each(["throw", "reject"])("an uncaught error (%s)", (action) => {
  test("ends the server after its open requests, and the next server serves the sandboxes that kept running", async ({ expect }) => {
    await daemonRuntime();
    await using berth = await prepareBerth({ BERTH_DRIVER: "process", BERTH_POOL_SIZE: "0" });
    await berth.start({ BERTH_TEST_FAILPOINT: "create.started:2", BERTH_TEST_FAILPOINT_ACTION: action });
    const session = await berth.api.create({ autoStartAgent: false });
    await berth.api.exec(session.sandboxId, "(sleep 1000 > /dev/null 2>&1 & echo $! > pid)");
    // A command that runs until a file appears, in a request that stays open until then.
    const command = berth.api.exec(session.sandboxId, "touch begun; while [ ! -e stop ]; do sleep 0.05; done; echo finished");
    await expect.poll(() => berth.api.readFile(session.sandboxId, "begun")).not.toBeNull();
    // The error happens during this create.
    const created = await berth.api.create({ autoStartAgent: false });
    await expect.poll(() => connects(berth)).toBe(false);
    // The API accepts no new requests any more, so write the file directly.
    writeFileSync(join(berth.dataDir, "sandboxes", session.sandboxId, "workspace/stop"), "");
    expect(await command).toMatchObject({ code: 0, stdout: "finished\n" });
    expect(await berth.exitCode()).toBe(1);
    expect(berth.output()).toContain('"msg":"server.uncaught_error"');
    expect(berth.output()).toContain("fail point create.started");
    expect(berth.output()).toContain('"msg":"server.stopped"');

    await berth.start();
    for (const { sandboxId } of [session, created])
      expect((await berth.api.exec(sandboxId, "echo still here")).stdout).toBe("still here\n");
    expect((await berth.api.exec(session.sandboxId, "kill -0 $(cat pid) && echo runs on")).stdout).toBe("runs on\n");
  });
});

test.concurrent("a server whose open requests do not end exits anyway", async ({ expect }) => {
  await daemonRuntime();
  await using berth = await startBerth({
    BERTH_DRIVER: "process",
    BERTH_POOL_SIZE: "0",
    BERTH_TEST_FAILPOINT: "create.started:2",
    BERTH_TEST_FAILPOINT_ACTION: "throw",
  });
  const session = await berth.api.create({ autoStartAgent: false });
  const endless = berth.api.exec(session.sandboxId, "touch begun; sleep 1000").catch((error: Error) => error.name);
  await expect.poll(() => berth.api.readFile(session.sandboxId, "begun")).not.toBeNull();
  await berth.api.create({ autoStartAgent: false });
  expect(await berth.exitCode()).toBe(1);
  expect(await endless).toBe("TypeError");
});

const connects = (berth: Berth) =>
  fetch(`${berth.url}/healthz`).then(
    () => true,
    () => false,
  );
