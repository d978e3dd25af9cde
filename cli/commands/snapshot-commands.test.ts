import { join } from "node:path";
import { newId } from "@berth/contract";
import { silentLog } from "@berth/server/log.ts";
import { openStore } from "@berth/server/store/open.ts";
import { finishSnapshot, insertSnapshot } from "@berth/server/store/snapshots/write.ts";
import { expect, test } from "vitest";
import { createInstallationWithStore } from "../testing/installation.ts";

test("a snapshot is listed, adopted and deleted", async () => {
  const { berth, json, dataDir } = await createInstallationWithStore();
  await json("partner", "create", "acme");
  const nowMs = Date.now();
  const id = newId("snp", nowMs);
  const lease = { owner: "server", untilMs: nowMs };
  const site = { driver: "process", host: "here" };
  await using store = await openStore({ file: join(dataDir, "berth.db"), log: silentLog });
  const row = {
    id,
    partnerId: "acme",
    sessionId: "ses_1",
    purpose: "keep",
    name: "first",
    template: "default",
    site,
    lease,
    nowMs,
  } as const;
  await insertSnapshot(store.db, row);
  await finishSnapshot(store.db, id, "server", 5 * 2 ** 20);
  expect((await berth("snapshot", "list", "--partner", "acme")).stdout).toMatch(
    new RegExp(`^${id} +acme +first +ses_1 +5 MiB +ready`, "m"),
  );
  expect(await json("snapshot", "adopt", id)).toMatchObject({ snapshotId: id, partnerId: null });
  expect(await json("snapshot", "list", "--partner", "acme")).toEqual([]);
  expect((await berth("snapshot", "delete", id)).stdout).toContain("is deleted");
  expect(await berth("snapshot", "delete", id)).toMatchObject({ code: 1, stderr: expect.stringContaining("There is no snapshot") });
  // A server finishes the deletion.
  expect(await store.db.selectFrom("snapshots").select(["state", "lease_until"]).execute()).toEqual([
    { state: "deleting", lease_until: 0 },
  ]);
});
