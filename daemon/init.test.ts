import { expect, test } from "vitest";
import { describeWith, machine } from "../tests/support/machine.ts";
import { runtimeWithForeignSnapshot } from "../tests/support/runtime.ts";
import { startTestDaemon } from "./testing/test-daemon.ts";

const ownPidNamespace = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];

// Runs as process 1 of a PID namespace, which only root may create.
describeWith(machine.ownPidNamespace(), "the first process of a sandbox", () => {
  test.each([
    ["init.sh", ["/bin/sh", "{runtime}/init.sh"]],
    ["the daemon, which replaces itself with init.sh", ["{runtime}/host/node", "{runtime}/daemon.cjs"]],
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
      const response = await daemon.fetch("/exec?format=text", { method: "POST", body: { command: "tr '\\0' ' ' < /proc/$PPID/cmdline" } });
      await daemon.stop("SIGKILL");
      return response.text;
    };
    expect(await commandLine("{runtime}")).toContain("daemon.blob");
    using foreign = await runtimeWithForeignSnapshot();
    expect(await commandLine(foreign.folder)).not.toContain("daemon.blob");
  });

  test("adds our programs to the PATH of the image, after its own, and leaves options of Node to the image's programs", async () => {
    // Node would refuse these options.
    const env = { PATH: "/image/bin:/usr/bin:/bin", NODE_OPTIONS: "--no-such-option" };
    await using daemon = await startTestDaemon(env, [...ownPidNamespace, "/bin/sh", "{runtime}/init.sh"]);
    const { text } = await daemon.fetch("/exec?format=text", { method: "POST", body: { command: "echo $NODE_OPTIONS $PATH" } });
    expect(text).toMatch(/^--no-such-option \/image\/bin:\/usr\/bin:\/bin:\/.*\/host\n$/);
    await daemon.stop("SIGKILL");
  });

  test("forwards SIGTERM and exits promptly", async () => {
    await using daemon = await startTestDaemon({}, [...ownPidNamespace, "/bin/sh", "{runtime}/init.sh"]);
    const began = Date.now();
    await daemon.fetch("/exec", { method: "POST", body: { command: "kill -TERM 1; sleep 50" } }).catch(() => {});
    expect(Date.now() - began).toBeLessThan(20_000);
  });
});
