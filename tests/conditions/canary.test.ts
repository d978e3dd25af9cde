import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { machine, testWith } from "../support/machine.ts";
import { startBerth } from "../support/servers/berth.ts";
import { cliEnv, cliPath, runCli } from "../support/servers/cli.ts";
import { daemonRuntime } from "../support/runtime.ts";

// A runtime that passes the driver's probe, and fails with every sandbox.
function createFailingRuntime(): string {
  const folder = mkdtempSync(join(tmpdir(), "berth-runtime-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const runc = execFileSync("which", ["runc"], { encoding: "utf8" }).trim();
  const fail = 'case " $* " in *" run "*sbx_*) exit 1;; esac';
  writeFileSync(join(folder, "runc"), `#!/bin/sh\n${fail}\nexec ${runc} "$@"\n`, { mode: 0o755 });
  return folder;
}

testWith(await machine.oci(), "a start and doctor say why a sandbox does not work, although the driver's probe succeeds", async () => {
  await daemonRuntime();
  const PATH = `${createFailingRuntime()}:${process.env.PATH}`;
  await using berth = await startBerth({ BERTH_DRIVER: "oci", PATH });
  await expect.poll(berth.output).toMatch(/A sandbox does not work here: .*could not start the container.*"msg":"sandbox.canary_failed"/);
  const { code, stdout } = await runCli({ ...berth, env: { ...berth.env, PATH } }, "doctor");
  expect(stdout).toMatch(/✗ sandbox +A sandbox does not work here: .*could not start the container/);
  expect(code).toBe(1);
});

testWith(await machine.oci(), "the sandbox of a doctor that was killed is ended by the next one", async () => {
  await daemonRuntime();
  const dataDir = mkdtempSync(join(tmpdir(), "berth-canary-test-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true }));
  const place = { dataDir, env: { BERTH_DATA_DIR: dataDir, BERTH_DRIVER: "oci" } };
  const doctor = spawn(process.execPath, [cliPath, "doctor"], { env: cliEnv(place), stdio: "ignore" });
  const pidFiles = () => globSync("canary/*/sandboxes/*/init.pid", { cwd: dataDir }).map((name) => join(dataDir, name));
  const pidOf = (file: string) => readFileSync(file, "utf8").trim();
  await expect.poll(() => pidFiles().map(pidOf).join(""), { timeout: 60_000, interval: 5 }).toMatch(/^\d+$/);
  const [pid] = pidFiles().map(pidOf);
  doctor.kill("SIGKILL");
  await once(doctor, "exit");
  expect(existsSync(`/proc/${pid}`)).toBe(true);
  expect((await runCli(place, "doctor")).stdout).toMatch(/✓ sandbox +A sandbox started/);
  await expect.poll(() => existsSync(`/proc/${pid}`)).toBe(false);
  expect(globSync("canary/*", { cwd: dataDir })).toEqual([]);
});
