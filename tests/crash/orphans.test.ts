import { readlinkSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith } from "../support/machine.ts";
import { readConfig } from "../../server/config/config.ts";
import { probeOci } from "../../server/drivers/oci/probe.ts";
import { startBerth, type Berth } from "../support/servers/berth.ts";
import { measureOrphans } from "./orphans.ts";
import { findStrayUserIds, findTraces } from "./traces.ts";

const probe = await probeOci(readConfig(process.env).config.ociRuntime);

describeWith(probe.usable ? undefined : probe.reason, "orphans", () => {
  let berth: Berth;
  beforeAll(async () => void (berth = await startBerth()));
  afterAll(() => berth?.[Symbol.asyncDispose]());

  test(
    "a sandbox without an owner is destroyed within 30 s, while the server runs and when it starts; without a row it is stopped and kept",
    { timeout: 180_000 },
    async () => {
      const times = await measureOrphans(berth);
      console.log("from orphan to destroyed or stopped:", times);
      for (const tookMs of Object.values(times)) expect(tookMs).toBeLessThan(30_000);
    },
  );

  test("the checks find everything that a sandbox has on the machine, and user ids without a sandbox", async () => {
    const { sandboxId } = await berth.api.create({ autoStartAgent: false });
    const kinds = findTraces(berth.dataDir)
      .filter(({ id }) => id === sandboxId)
      .map(({ what }) =>
        what.replace(/\W.*?(folder|user id|mount|loop device|control group|process).*/, " $1").replace(/^process.*/, "process"),
      );
    expect([...new Set(kinds)].toSorted()).toEqual([
      "a control group",
      "a mount",
      "process",
      "the folder",
      "the loop device",
      "the user id",
    ]);
    // Processes of a sandbox that has just been removed may still be ending.
    await expect.poll(() => findStrayUserIds(berth.dataDir)).toEqual([]);

    const link = join(berth.dataDir, "sandboxes", sandboxId, "user-id");
    const ids = readlinkSync(link);
    rmSync(link);
    const stray = findStrayUserIds(berth.dataDir).join("\n");
    symlinkSync(ids, link);
    expect(stray).toMatch(/process \d+ runs as \d+, which no sandbox has/);
    expect(stray).toMatch(/workspace belongs to \d+, which no sandbox has/);
  });
});
