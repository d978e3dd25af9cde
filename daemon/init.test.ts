import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeWith, machine } from "../tests/support/machine.ts";
import { daemonRuntime } from "../tests/support/runtime.ts";
import { startTestDaemon } from "./testing/test-daemon.ts";

const ownPidNamespace = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];

// Runs as process 1 of a PID namespace, which only root may create.
describeWith(machine.ownPidNamespace(), "the first process of a sandbox", () => {
  test.each([
    ["init.sh", ["/bin/sh", "{runtime}/init.sh"]],
    ["the daemon, which replaces itself with init.sh", ["{runtime}/bin/node", "{runtime}/daemon.cjs"]],
  ])("reaps 1000 orphans: %s", async (_name, command) => {
    await using daemon = await startTestDaemon({}, [...ownPidNamespace, ...command]);
    const exec = async (script: string) => (await daemon.fetch("/exec?format=text", { method: "POST", body: { command: script } })).text;
    expect((await exec("tr '\\0' ' ' < /proc/1/cmdline")).trim()).toContain("init.sh");
    // Each inner shell exits immediately and orphans its child.
    await exec("for i in $(seq 1000); do (sh -c 'true' &) ; done");
    // A process that is still running is not a zombie yet, so wait for both.
    await expect.poll(async () => Number(await exec("ls -d /proc/[0-9]* | wc -l"))).toBeLessThan(12);
    await expect.poll(async () => Number(await exec("grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l"))).toBe(0);
    // unshare waits for its child and ignores other signals.
    await daemon.stop("SIGKILL");
  });

  test("starts the daemon from its snapshot, and without it if another version of Node has made it", async () => {
    const commandLine = async (folder: string) => {
      await using daemon = await startTestDaemon({}, [...ownPidNamespace, "/bin/sh", `${folder}/init.sh`]);
      const reply = await daemon.fetch("/exec?format=text", { method: "POST", body: { command: "tr '\\0' ' ' < /proc/$PPID/cmdline" } });
      await daemon.stop("SIGKILL");
      return reply.text;
    };
    expect(await commandLine("{runtime}")).toContain("daemon.blob");

    const folder = mkdtempSync(join(tmpdir(), "berth-runtime-"));
    const runtime = await daemonRuntime();
    for (const name of readdirSync(runtime)) symlinkSync(join(runtime, name), join(folder, name));
    const snapshot = readFileSync(join(runtime, "daemon.blob"));
    snapshot.write(process.version.slice(1).replace(/\d/g, "0"), snapshot.indexOf(process.version.slice(1)));
    rmSync(join(folder, "daemon.blob"));
    writeFileSync(join(folder, "daemon.blob"), snapshot);
    expect(await commandLine(folder)).not.toContain("daemon.blob");
    rmSync(folder, { recursive: true });
  });

  test("forwards SIGTERM and exits promptly", async () => {
    await using daemon = await startTestDaemon({}, [...ownPidNamespace, "/bin/sh", "{runtime}/init.sh"]);
    const began = Date.now();
    await daemon.fetch("/exec", { method: "POST", body: { command: "kill -TERM 1; sleep 50" } }).catch(() => {});
    expect(Date.now() - began).toBeLessThan(20_000);
  });
});
