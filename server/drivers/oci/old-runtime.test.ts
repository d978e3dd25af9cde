import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { newId } from "@berth/contract";
import { afterEach, beforeEach, expect, test } from "vitest";
import { describeWith, type Missing } from "../../../tests/support/machine.ts";
import { silentLog } from "../../log.ts";
import { DEFAULT_TEMPLATE } from "../../templates.ts";
import { writeDaemon } from "./testing/write-daemon.ts";
import { findRemainingResources } from "./testing/remaining-resources.ts";
import { createOciDriver } from "./oci.ts";
import { probeOci } from "./probe.ts";
import { kindOf } from "./runtime/runtime-kinds.ts";

const probe = await probeOci();
const missing = findMissing();

function findMissing(): Missing {
  if (!probe.usable) return probe.reason;
  return kindOf(probe.runtime).opaque ? "gVisor needs no recursive mount options" : undefined;
}

describeWith(missing, "a runtime that does not know recursive mount options", () => {
  let folder: string;
  // Acts as an older runtime, which ignores options that it does not know.
  let old: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "berth-old-runtime-"));
    chmodSync(folder, 0o755);
    mkdirSync(join(folder, "bin"));
    old = join(folder, "bin/crun");
    const runtime = probe.usable ? probe.runtime : "";
    const forget = `sed -i 's/"r\\(ro\\|nosuid\\|nodev\\|noexec\\)"/"unknown"/g' "$bundle/config.json"`;
    const script = `for word; do [ "$previous" = --bundle ] && bundle=$word; previous=$word; done\n${forget}\nexec ${runtime} "$@"`;
    writeFileSync(old, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test("is refused by the probe with one sentence", async () => {
    const path = process.env.PATH;
    process.env.PATH = `${join(folder, "bin")}${delimiter}${path}`;
    try {
      const { usable, reason } = await probeOci("crun");
      expect(usable).toBe(false);
      expect(reason).toContain(
        "it does not make /usr, /opt/berth, /run/berth-egress and the mounts below them read-only, nosuid and nodev",
      );
      expect(reason).toContain("this needs Linux 5.12 and runc 1.1, crun 1.4 or newer");
    } finally {
      process.env.PATH = path;
    }
  });

  test("starts no sandbox, even if the probe has not refused it", async () => {
    if (!probe.usable) throw new Error(probe.reason);
    const dataDir = join(folder, "data");
    writeDaemon(folder, "sleep 100");
    const driver = createOciDriver({ dataDir, runtimeDir: folder, log: silentLog, runtime: old, boundDisks: probe.boundDisks });
    const id = newId("sbx", Date.now());
    const spec = { id, template: { ...DEFAULT_TEMPLATE, diskMb: 64 }, tokenHash: "0".repeat(64) };
    const error: unknown = await driver.create(spec, AbortSignal.timeout(30_000)).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "sandbox_failed" });
    expect(String((error as Error).cause)).toContain("does not make /usr");
    expect(findRemainingResources(dataDir, id)).toEqual([]);
  });
});
