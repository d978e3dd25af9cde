import { newId } from "@berth/contract";
import { expect, test } from "vitest";
import { onBothEngines } from "../../../tests/support/databases/stores.ts";
import type { Store } from "../../store/open.ts";
import { insertPartner } from "../../store/store.suite.ts";
import { insertSessionRow, sessionRow } from "../../store/testing/session-row.ts";
import { insertVolume, usesOf } from "../../store/volumes/volumes.ts";
import { claimVolumes } from "./claim-volumes.ts";

const nowMs = Date.UTC(2030, 0, 1);
const site = { driver: "oci", host: "here" };

onBothEngines("the claims on a volume", (databases) => {
  const claim = (store: Store, mode: "ro" | "rw", at = site) =>
    store.transaction(async (tx) => {
      const row = sessionRow(nowMs, { partner_id: "acme", state: "paused", paused_at: nowMs });
      const mounts = [{ name: "cache", path: "/mnt/cache", mode }];
      await claimVolumes(tx, { partnerId: "acme", sessionId: row.id, site: at, mounts });
      await insertSessionRow(tx, row);
      return row.id;
    });

  test("allow one of many concurrent sessions to write, until it is destroyed", async () => {
    await using store = await (await databases.create()).open();
    await insertPartner(store, "acme");
    const id = newId("vol", nowMs);
    await insertVolume(store.db, { id, partnerId: "acme", name: "cache", sizeMb: 16, createdAtMs: nowMs });
    const outcomes = await Promise.allSettled(Array.from({ length: 6 }, () => claim(store, "rw")));
    const writers = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
    expect(writers).toHaveLength(1);
    expect(outcomes.filter(({ status }) => status === "rejected")).toMatchObject(Array(5).fill({ reason: { code: "volume_in_use" } }));
    await claim(store, "ro");
    expect(await usesOf(store.db, [id])).toHaveLength(2);
    await expect(claim(store, "ro", { driver: "oci", host: "elsewhere" })).rejects.toMatchObject({ code: "session_elsewhere" });

    await store.db.updateTable("sessions").set({ state: "destroyed", destroyed_at: nowMs }).where("id", "=", writers[0]!).execute();
    await claim(store, "rw");
    expect((await store.db.selectFrom("volume_mounts").selectAll().execute()).map(({ mode }) => mode).toSorted()).toEqual(["ro", "rw"]);
  });
});
