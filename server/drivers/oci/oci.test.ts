import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { daemonRuntime } from "../../../tests/support/runtime.ts";
import { silentLog } from "../../log.ts";
import { driverSuite } from "../driver.suite.ts";
import { createOciDriver } from "./oci.ts";
import { probeOci } from "./probe.ts";

const probe = await probeOci();

driverSuite(
  "oci",
  async () => {
    if (!probe.usable) throw new Error(probe.reason);
    const dataDir = mkdtempSync(join(tmpdir(), "berth-oci-"));
    const runtimeDir = await daemonRuntime();
    const { runtime, boundDisks } = probe;
    const open = () => createOciDriver({ dataDir, runtimeDir, log: silentLog, runtime, boundDisks });
    return {
      driver: open(),
      reopen: async () => open(),
      leftovers: async (id) => [
        ...readFileSync("/proc/self/mountinfo", "utf8")
          .split("\n")
          .filter((line) => line.includes(id)),
        ...loopFiles().filter((file) => file.includes(id)),
        ...cgroupsNamed(id),
        ...["sandboxes", "containers", "egress"].map((name) => join(dataDir, name, id)).filter((path) => existsSync(path)),
      ],
      async dispose() {
        rmSync(dataDir, { recursive: true, force: true });
      },
    };
  },
  { skipReason: probe.usable ? undefined : probe.reason },
);

function loopFiles(): string[] {
  const files = readdirSync("/sys/block").map((name) => `/sys/block/${name}/loop/backing_file`);
  return files.filter((file) => existsSync(file)).map((file) => readFileSync(file, "utf8").trim());
}

function cgroupsNamed(id: string): string[] {
  const hierarchies = ["/sys/fs/cgroup", ...readdirSync("/sys/fs/cgroup").map((name) => join("/sys/fs/cgroup", name))];
  return hierarchies
    .filter((path) => statSync(path).isDirectory())
    .flatMap((path) => readdirSync(path).map((name) => join(path, name)))
    .filter((path) => path.endsWith(id));
}
