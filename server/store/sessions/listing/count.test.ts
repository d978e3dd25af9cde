import { expect, test } from "vitest";
import { onBothEngines } from "../../../../tests/support/databases/stores.ts";
import { insertPartner } from "../../store.suite.ts";
import { insertSessionRow, sessionRow } from "../../testing/session-row.ts";
import { countByState, readQuotaUse } from "./count.ts";

onBothEngines("counts of sessions", (databases) => {
  test("sessions are counted by state, and against the quotas of their partners", async () => {
    await using store = await (await databases.create()).open();
    for (const partner of ["acme", "unlimited", "gone"]) await insertPartner(store, partner);
    await store.db.updateTable("partners").set({ max_sessions: 5 }).where("id", "!=", "unlimited").execute();
    await store.db.updateTable("partners").set({ state: "suspended" }).where("id", "=", "gone").execute();
    const add = (overrides: Parameters<typeof sessionRow>[1]) => insertSessionRow(store.db, sessionRow(1_893_456_000_000, overrides));
    await add({});
    await add({ state: "paused" });
    await add({ state: "paused", hibernated: 1 });
    await add({ state: "destroyed", destroyed_at: 1 });
    await add({ state: "destroying" });
    await add({ partner_id: "unlimited" });
    await add({ state: "warm", partner_id: null, external_user_id: null });

    const counts = await countByState(store.db);
    expect(Object.fromEntries([...counts].filter(([, count]) => count > 0))).toEqual({
      running: 2,
      paused: 1,
      hibernated: 1,
      destroying: 1,
      warm: 1,
    });
    expect([counts.get("creating"), counts.has("destroyed" as never)]).toEqual([0, false]);
    expect(await readQuotaUse(store.db)).toEqual([{ partnerId: "acme", maxSessions: 5, live: 4 }]);
  });
});
