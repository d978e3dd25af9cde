import { spawnSync } from "node:child_process";
import { closeSync, constants, existsSync, globSync, openSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, test, type TestFunction, type TestOptions } from "vitest";
import { agentBinaries } from "../../daemon/build.ts";
import { readConfig } from "../../server/config/config.ts";
import { readFileIfReadable } from "../../server/bounded-io/read-small-file.ts";
import { probeOci } from "../../server/drivers/oci/probe.ts";
import { onPath } from "./on-path.ts";

// The only place that decides whether a machine can run a test. A test that needs more than Node names its requirements and
// is skipped with the reason if one is missing: `describeWith(machine.chromium, "…", () => {})`.

// The reason why this machine does not meet a requirement, or undefined if it does.
export type Missing = string | undefined;

const isLinux = process.platform === "linux";
// The shell needs a quarter less processor time than the whole browser without its windows.
const CHROMIUMS = ["lib/chromium/chromium-headless-shell", "bin/chromium", "bin/chromium-browser", "bin/google-chrome"];
const chromiumPath = CHROMIUMS.map((path) => join("/usr", path)).find((path) => existsSync(path));
const TMPFS = 0x01021994;
const postgresPrograms = globSync("/usr/lib/postgresql/*/bin").findLast((path) => existsSync(join(path, "pg_dump")));

export const machine = {
  linux: unless(isLinux, "needs Linux"),
  root: unless(isLinux && process.getuid?.() === 0, "needs Linux and root"),
  chromium: unless(process.env.CHROMIUM ?? chromiumPath, "needs Chromium (apt-get install chromium-headless-shell)"),
  postgresPrograms: unless(postgresPrograms, "needs pg_dump and its server (apt-get install postgresql)"),
  // Without the plugin, Docker prints its own version.
  composePlugin: () => unless(answers("docker compose version", "Compose"), "needs docker compose"),
  ownPidNamespace: () =>
    unless(spawnSync("unshare", ["--pid", "--fork", "true"]).status === 0, "needs the right to unshare a PID namespace"),
  realCluster: unless(process.env["BERTH_TEST_KUBECONFIG"], "BERTH_TEST_KUBECONFIG names no cluster"),
  warmPool: unless(process.env["BERTH_TEST_WARM_POOL"], "BERTH_TEST_WARM_POOL names no SandboxWarmPool"),
  dockerRuntime: unless(process.env["BERTH_TEST_DOCKER_RUNTIME"], "BERTH_TEST_DOCKER_RUNTIME names no runsc"),
  // A variant of a driver whose other tests are complete runs only those in which variants differ, unless BERTH_TEST_DRIVERS=all.
  sameInVariants: (isVariant: boolean) => unless(!isVariant || process.env["BERTH_TEST_DRIVERS"] === "all", "the same in all variants"),
  agent: (name: string) =>
    unless(agentBinaries().has(name), `needs ${name}, which has no package for ${process.platform}-${process.arch} here`),
  command: (name: string, debianPackage = name) => unless(onPath(name), `needs ${name} (apt-get install ${debianPackage})`),
  // A file of a package that has no command.
  file: (pattern: string, debianPackage: string) =>
    unless(globSync(pattern).length > 0, `needs ${pattern} (apt-get install ${debianPackage})`),
  // Programs that fetch and unpack the images of oci sandboxes.
  imageTools: () => machine.command("skopeo") ?? machine.command("umoci"),
  // Debian's own Python, for the Python client.
  python: ["httpx", "pip"].map((name) =>
    unless(existsSync(`/usr/lib/python3/dist-packages/${name}`), `needs Debian's Python with ${name} (apt-get install python3-${name})`),
  ),
  // A program that is not in Debian.
  program: (name: string) => unless(onPath(name), `needs ${name}`),
  cgroup: (path: string) => unless(existsSync(join(path, "cgroup.procs")), `no control groups are mounted at ${dirname(path)}`),
  // The controller blkio of cgroup v1, or io of v2.
  deviceLimits: unless(
    existsSync("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device") ||
      (readFileIfReadable("/sys/fs/cgroup/cgroup.controllers") ?? "").split(/\s/).includes("io"),
    "needs a kernel that limits the throughput of block devices",
  ),
  // Sandboxes of tests have their disks in the temporary folder.
  directIo: () => unless(hasDirectIo(tmpdir()), `needs a file system with direct I/O at ${tmpdir()}`),
  // Sandboxes made by runc, or by the runtime that BERTH_OCI_RUNTIME names.
  async oci(): Promise<Missing> {
    const probe = await probeOci(readConfig(process.env).config.ociRuntime);
    return probe.usable ? undefined : probe.reason;
  },
};

export const installed = { chromium: process.env.CHROMIUM ?? chromiumPath, postgresPrograms };

export function describeWith(needs: Missing | Missing[], name: string, ...[first, second]: [() => void] | [TestOptions, () => void]): void {
  const reason = firstReason(needs);
  const [options, tests] = second ? [first as TestOptions, second] : [{}, first as () => void];
  // oxlint-disable-next-line vitest/valid-describe-callback -- the rule does not know that options may come first
  describe.skipIf(reason !== undefined)(`${label(name, reason)}`, options, tests);
}

export function testWith(needs: Missing | Missing[], name: string, run: TestFunction): void {
  const reason = firstReason(needs);
  test.skipIf(reason !== undefined)(`${label(name, reason)}`, run);
}

const firstReason = (needs: Missing | Missing[]): Missing => [needs].flat().find((need) => need !== undefined);

const label = (name: string, reason: Missing) => (reason === undefined ? name : `${name} [skipped: ${reason}]`);

function unless(isThere: unknown, reason: string): Missing {
  return isThere ? undefined : reason;
}

function answers(command: string, word: string): boolean {
  const [program = "", ...args] = command.split(" ");
  return spawnSync(program, args, { encoding: "utf8" }).stdout?.includes(word) ?? false;
}

// Recent kernels accept the flag for files in memory too.
function hasDirectIo(folder: string): boolean {
  if (statfsSync(folder).type === TMPFS) return false;
  const path = join(folder, `berth-direct-io-${process.pid}`);
  try {
    closeSync(openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_DIRECT, 0o600));
    return true;
  } catch {
    return false;
  } finally {
    rmSync(path, { force: true });
  }
}
