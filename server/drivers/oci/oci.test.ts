import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { daemonRuntime } from "../../../tests/support/runtime.ts";
import { silentLog } from "../../log.ts";
import { driverSuite } from "../driver.suite.ts";
import { findLeftovers } from "./leftovers.ts";
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
      leftovers: async (id) => findLeftovers(dataDir, id),
      async dispose() {
        rmSync(dataDir, { recursive: true, force: true });
      },
    };
  },
  { skipReason: probe.usable ? undefined : probe.reason },
);
