import { expect, test } from "vitest";
import { describeWith, machine } from "../tests/support/machine.ts";
import { startTestDaemon } from "./testing/test-daemon.ts";

const ownProcessSpace = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];

// As process 1 of a sandbox. Needs the right to make a process space of its own (root).
describeWith(machine.ownPidNamespace(), "the first process of a sandbox", () => {
  test.each([
    ["init.sh", ["/bin/sh", "{runtime}/init.sh"]],
    ["the daemon itself, which hands over to init.sh", ["{runtime}/bin/node", "{runtime}/daemon.cjs"]],
  ])("leaves no zombie of 1000 orphans: %s", async (_name, command) => {
    await using daemon = await startTestDaemon({}, [...ownProcessSpace, ...command]);
    const exec = async (script: string) => (await daemon.fetch("/exec?format=text", { method: "POST", body: { command: script } })).text;
    expect((await exec("tr '\\0' ' ' < /proc/1/cmdline")).trim()).toContain("init.sh");
    // Each inner shell ends at once and leaves its child without a parent.
    await exec("for i in $(seq 1000); do (sh -c 'true' &) ; done");
    // Those that have not ended yet are no zombies, so both are waited for.
    await expect.poll(async () => Number(await exec("ls -d /proc/[0-9]* | wc -l"))).toBeLessThan(12);
    await expect.poll(async () => Number(await exec("grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l"))).toBe(0);
    // unshare waits for its child and heeds no other signal.
    await daemon.stop("SIGKILL");
  });

  test("passes SIGTERM on and ends at once", async () => {
    await using daemon = await startTestDaemon({}, [...ownProcessSpace, "/bin/sh", "{runtime}/init.sh"]);
    const began = Date.now();
    await daemon.fetch("/exec", { method: "POST", body: { command: "kill -TERM 1; sleep 50" } }).catch(() => {});
    expect(Date.now() - began).toBeLessThan(20_000);
  });
});
