import { realpathSync } from "node:fs";
import { availableParallelism } from "node:os";
import { expect, test } from "vitest";
import { cgroupPrefix, openCgroups } from "../../../server/drivers/oci/cgroups/cgroups.ts";
import { describeWith } from "../../support/machine.ts";
import { missing, openSandboxes } from "../sandboxes.ts";

describeWith(missing, "the driver", () => {
  test("moves a sandbox that keeps all processors busy to the background, and not its neighbour", async () => {
    await using sandboxes = await openSandboxes();
    const cgroups = openCgroups(cgroupPrefix(realpathSync(sandboxes.dataDir)));
    const neighbour = await sandboxes.create();
    const burner = await sandboxes.create({ cpus: availableParallelism() });
    await burner.sh("for i in $(seq $(nproc)); do (while :; do :; done) > /dev/null 2>&1 & done");
    await expect.poll(() => cgroups.isBackground(burner.id), { timeout: 20_000 }).toBe(true);
    expect(cgroups.isBackground(neighbour.id)).toBe(false);
    expect((await neighbour.sh("echo well")).output).toBe("well\n");
  });
});
