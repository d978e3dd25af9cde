import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dockerMissing, gvisor, startDockerEngine } from "../../../tests/support/docker/engine.ts";
import { daemonRuntime } from "../../../tests/support/runtime.ts";
import { silentLog } from "../../log.ts";
import { driverSuite, type SuiteDriver } from "../testing/driver.suite.ts";
import { createDockerDriver } from "./docker.ts";
import { machine } from "../../../tests/support/machine.ts";

driverSuite("docker", openSuite, { missing: dockerMissing, hasLiveLimits: true });
driverSuite("docker on gVisor", openSuite, {
  missing: dockerMissing ?? machine.dockerRuntime,
  template: { runtime: gvisor.runtime },
});

async function openSuite(): Promise<SuiteDriver> {
  const engine = await startDockerEngine();
  const dataDir = await mkdtemp(join(tmpdir(), "berth-docker-"));
  const runtimeDir = await daemonRuntime();
  const open = () =>
    createDockerDriver({
      socketPath: engine.socketPath,
      image: engine.image,
      dataDir,
      runtimeDir,
      installation: "suite",
      boundDisks: true,
      log: silentLog,
    });
  return {
    driver: open(),
    reopen: async () => open(),
    remainingResources: async (id) => [
      ...(await engine.named(id)),
      ...readFileSync("/proc/self/mountinfo", "utf8")
        .split("\n")
        .filter((line) => line.includes(id)),
      ...["sandboxes", "egress"].map((name) => join(dataDir, name, id)).filter((path) => existsSync(path)),
    ],
    async dispose() {
      await engine[Symbol.asyncDispose]();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
