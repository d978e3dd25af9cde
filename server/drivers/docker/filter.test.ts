import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, readlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newId } from "@berth/contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith } from "../../../tests/support/machine.ts";
import { MISSING, REFUSED, WORKING, type Call } from "../../../tests/isolation/syscalls/attempts.ts";
import { NATIVE, numberOf } from "../../../tests/isolation/syscalls/syscalls.ts";
import { dockerMissing, startDockerEngine, type TestEngine } from "../../../tests/support/docker/engine.ts";
import { daemonRuntime } from "../../../tests/support/runtime.ts";
import { silentLog } from "../../log.ts";
import { DEFAULT_TEMPLATE } from "../../templates.ts";
import type { Driver, SandboxSpec } from "../driver.ts";
import { exec } from "../testing/driver.suite.ts";
import { createDockerDriver } from "./docker.ts";

const TOKEN = "a token";

// The attacks of tests/isolation that the default settings of an Engine would not stop, in a container of a real Engine. They are
// written in Perl, which every Debian image has.
describeWith(dockerMissing, "hostile code on Docker", () => {
  let engine: TestEngine;
  let dataDir: string;
  let driver: Driver;
  let spec: SandboxSpec;
  let below: string;

  beforeAll(async () => {
    engine = await startDockerEngine();
    dataDir = await mkdtemp(join(tmpdir(), "berth-docker-"));
    const { socketPath, image } = engine;
    driver = createDockerDriver({
      socketPath,
      image,
      dataDir,
      runtimeDir: await daemonRuntime(),
      installation: "hostile",
      boundDisks: true,
      log: silentLog,
    });
    spec = { id: newId("sbx", Date.now()), template: DEFAULT_TEMPLATE, tokenHash: createHash("sha256").update(TOKEN).digest("hex") };
    // The operator has mounted a file system below a folder that the sandbox sees.
    below = join(dataDir, "egress", spec.id, "below");
    mkdirSync(below, { recursive: true });
    chmodSync(join(dataDir, "egress", spec.id), 0o755);
    execFileSync("mount", ["-t", "tmpfs", "-o", "mode=777,size=1m", "berth-test", below]);
    await driver.create(spec, AbortSignal.timeout(60_000));
  });
  afterAll(async () => {
    if (below) execFileSync("umount", ["--lazy", below]);
    await driver?.destroy(spec.id, AbortSignal.timeout(60_000));
    await driver?.[Symbol.asyncDispose]();
    await engine?.[Symbol.asyncDispose]();
    if (dataDir) await rm(dataDir, { recursive: true, force: true });
  });

  const inside = (command: string) => exec(driver, spec.id, command, TOKEN);

  test("the system call filter is that of the oci driver", async () => {
    const calls = (list: readonly Call[]) => list.filter(([name]) => numberOf(name, NATIVE) !== undefined && name !== "clone");
    const all = [...calls(REFUSED), ...calls(MISSING), ...calls(WORKING)];
    const lines = all.map(([name, ...args]) => {
      const passed = args.map((argument) => (typeof argument === "number" ? argument : `my $b = "${"\\0".repeat(argument.length)}"`));
      return `{ my $r = syscall(${[numberOf(name, NATIVE), ...passed].join(", ")}); print "${name} ", $r < 0 ? $! + 0 : 0, "\\n"; }`;
    });
    const output = await inside(`perl - <<'END'\n${lines.join("\n")}\nEND`);
    const expected = [...calls(REFUSED).map(() => 1), ...calls(MISSING).map(() => 38), ...calls(WORKING).map(() => 0)];
    expect(output.trim().split("\n")).toEqual(all.map(([name], index) => `${name} ${expected[index]}`));
  });

  test("a sandbox cannot exhaust the pseudo-terminals of the machine, and can use its own", async () => {
    const taking = `for (1 .. 4000) { open(my $f, "+<", "/dev/ptmx") or do { print $_ - 1, " $!\\n"; last }; push @held, $f }`;
    expect(await inside(`perl -e '${taking}'; script -qc tty /dev/null`)).toMatch(/^64 No space left on device\n\/dev\/pts\/\d+\r?\n/);
  });

  test("a sandbox has a network of its own, with nothing but its loopback, and knows its own names", async () => {
    const network = await inside("readlink /proc/self/ns/net; ls /sys/class/net; getent hosts sandbox");
    const [namespace, ...rest] = network.trim().split("\n");
    expect(namespace).not.toBe(readlinkSync("/proc/self/ns/net"));
    expect(rest).toEqual(["lo", expect.stringMatching(/^127\.0\.0\.1 +localhost sandbox$/)]);
    expect(await inside("(echo x >> /etc/hosts) 2> /dev/null || echo refused")).toBe("refused\n");
    const tcp = `s.listen(0, () => require("net").connect(s.address().port, "localhost", () => process.exit()).on("error", () => process.exit(1)))`;
    expect(await inside(`/opt/berth/bin/node -e 'const s = require("net").createServer(); ${tcp}' && echo connected`)).toBe("connected\n");
  });

  test("a mount below a folder of the host is not visible", async () => {
    expect(await inside("(echo x > /run/berth-egress/below/file) 2> /dev/null && echo wrote; grep -c below /proc/self/mountinfo")).toBe(
      "0\n",
    );
  });
});
