import { newId } from "@berth/contract";
import { expect, test } from "vitest";
import { onBothEngines } from "../../../tests/support/databases/stores.ts";
import { insertPartner } from "../store.suite.ts";
import { abandonedSnapshots, findSnapshot, listSnapshots, snapshotIdsAt, snapshotsTakenBefore, snapshotUse } from "./read.ts";
import { beginDeletion, finishSnapshot, insertSnapshot, releaseSnapshot, removeSnapshot, type NewSnapshot } from "./write.ts";

const site = { driver: "oci", host: "here" };
const startMs = Date.UTC(2030, 0, 1);

const aSnapshot = (nowMs: number, purpose: NewSnapshot["purpose"] = "keep"): NewSnapshot => ({
  id: newId("snp", nowMs),
  partnerId: "acme",
  sessionId: "ses_1",
  purpose,
  name: "first",
  template: "default",
  site,
  lease: { owner: "server", untilMs: nowMs + 1000 },
  nowMs,
});

onBothEngines("snapshots in the store", (databases) => {
  test("a snapshot is created, listed in pages, counted, taken over and removed", async () => {
    await using store = await (await databases.create()).open();
    const { db } = store;
    await insertPartner(store, "acme");
    const [older, newer, fork] = [aSnapshot(startMs), aSnapshot(startMs + 1), aSnapshot(startMs + 2, "fork")];
    for (const row of [older, newer, fork]) await insertSnapshot(db, row);
    expect(await finishSnapshot(db, older.id, "another server", 1)).toBeNull();
    for (const row of [older, fork]) expect(await finishSnapshot(db, row.id, "server", 3 * 2 ** 33)).toMatchObject({ state: "ready" });
    expect(await findSnapshot(db, older.id)).toMatchObject({ site, leaseUntilMs: null, bytes: 3 * 2 ** 33 });
    expect(await findSnapshot(db, fork.id)).toMatchObject({ leaseUntilMs: startMs + 1002 });
    expect(await snapshotUse(db, "acme")).toEqual({ count: 2, bytes: 3 * 2 ** 33 });

    const [first] = await listSnapshots(db, { partnerId: "acme", limit: 1 });
    expect(first).toMatchObject({ id: newer.id, state: "creating" });
    const after = { createdAt: first!.createdAtMs, id: first!.id };
    expect((await listSnapshots(db, { partnerId: "acme", limit: 5, after })).map(({ id }) => id)).toEqual([older.id]);
    expect((await snapshotsTakenBefore(db, site, startMs + 5, 10)).map(({ id }) => id)).toEqual([older.id]);

    const abandoned = async (nowMs: number, onlyOwnerAlive?: string) =>
      new Set((await abandonedSnapshots(db, site, { nowMs, onlyOwnerAlive })).map(({ id }) => id));
    expect(await abandoned(startMs)).toEqual(new Set());
    expect(await abandoned(startMs, "the next server")).toEqual(new Set([newer.id, fork.id]));
    expect(await abandoned(startMs + 2000)).toEqual(new Set([newer.id, fork.id]));

    // If two servers have read the same row, one of them takes it over.
    const seen = (await findSnapshot(db, older.id))!;
    expect(await beginDeletion(db, seen, { owner: "one", untilMs: startMs + 9000 })).toBe(true);
    expect(await beginDeletion(db, seen, { owner: "two", untilMs: startMs + 9000 })).toBe(false);
    await releaseSnapshot(db, older.id);
    expect(await abandoned(startMs)).toEqual(new Set([older.id]));
    expect([await removeSnapshot(db, older.id), await removeSnapshot(db, older.id)]).toEqual([true, false]);
    expect(await snapshotIdsAt(db, site)).toEqual(new Set([newer.id, fork.id]));
    expect(await snapshotIdsAt(db, { driver: "kubernetes", host: null })).toEqual(new Set());
  });
});
