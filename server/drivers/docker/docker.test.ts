import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { debianRootMissing } from "../../../tests/support/debian-root.ts";
import { dockerMissing, startDockerEngine } from "../../../tests/support/docker.ts";
import { daemonRuntime } from "../../../tests/support/runtime.ts";
import { silentLog } from "../../log.ts";
import { driverSuite } from "../driver.suite.ts";
import { createDockerDriver } from "./docker.ts";

// At the very first run of all it is still being made: the suite does not hold up the others for it, the journeys do.
const DEBIAN_WITHIN_MS = 10_000;
const withoutDebian = debianRootMissing();

driverSuite(
  `docker${withoutDebian === undefined ? "" : ` (on this machine's programs: ${withoutDebian})`}`,
  async () => {
    const engine = await startDockerEngine({ debianWithinMs: DEBIAN_WITHIN_MS });
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
      leftovers: async (id) => [
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
  },
  { skipReason: dockerMissing() },
);
