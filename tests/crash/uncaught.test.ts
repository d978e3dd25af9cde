import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { prepareBerth, type Berth } from "../support/servers/berth.ts";
import { daemonRuntime } from "../support/runtime.ts";

test("an uncaught error ends the server after its open requests, and the next server serves the sandboxes that kept running", async () => {
  await daemonRuntime();
  await using berth = await prepareBerth({ BERTH_DRIVER: "process", BERTH_POOL_SIZE: "0" });
  const startFailing = (action: "throw" | "reject", failpoint: string) =>
    berth.start({ BERTH_TEST_FAILPOINT: failpoint, BERTH_TEST_FAILPOINT_ACTION: action });

  await startFailing("throw", "create.started:2");
  const session = await berth.api.create({ autoStartAgent: false });
  await berth.api.exec(session.sandboxId, "(sleep 1000 > /dev/null 2>&1 & echo $! > pid)");
  for (const action of ["throw", "reject"] as const) {
    const outputBefore = berth.output().length;
    // A command that runs until a file appears, in a request that stays open until then.
    const wait = `rm -f stop; touch begun-${action}; while [ ! -e stop ]; do sleep 0.05; done; echo finished`;
    const command = berth.api.exec(session.sandboxId, wait);
    await expect.poll(() => berth.api.readFile(session.sandboxId, `begun-${action}`)).not.toBeNull();
    // The error happens during this create.
    const created = await berth.api.create({ autoStartAgent: false });
    await expect.poll(() => connects(berth)).toBe(false);
    // The API accepts no new requests any more, so write the file directly.
    writeFileSync(join(berth.dataDir, "sandboxes", session.sandboxId, "workspace/stop"), "");
    expect(await command).toMatchObject({ code: 0, stdout: "finished\n" });
    expect(await berth.exitCode()).toBe(1);
    const output = berth.output().slice(outputBefore);
    expect(output).toContain('"msg":"server.uncaught_error"');
    expect(output).toContain("fail point create.started");
    expect(output).toContain('"msg":"server.stopped"');

    // The next server fails too.
    await startFailing(action === "throw" ? "reject" : "throw", "create.started:1");
    for (const { sandboxId } of [session, created])
      expect((await berth.api.exec(sandboxId, "echo still here")).stdout).toBe("still here\n");
    expect((await berth.api.exec(session.sandboxId, "kill -0 $(cat pid) && echo runs on")).stdout).toBe("runs on\n");
  }

  // An open request that does not end delays the server's end, and does not prevent it.
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
