import { expect, test } from "vitest";
import { onBothEngines } from "../../../tests/support/databases/stores.ts";
import { addModelUsage, correctModelUsage, modelUsageOf, modelUsageOfUser } from "./model-usage.ts";

onBothEngines("model usage", (databases) => {
  test("tokens add up per session and per user, and can be corrected in both directions", async () => {
    await using store = await (await databases.create()).open();
    const session = { sessionId: "ses_1" as const, partnerId: "acme", externalUserId: "ada" };
    await addModelUsage(store.db, session, { input: 1000, output: 0 }, 1);
    await addModelUsage(store.db, session, { input: 500, output: 0 }, 2);
    await correctModelUsage(store.db, "ses_1", { input: -900, output: 30 }, 3);
    await addModelUsage(store.db, { ...session, sessionId: "ses_2" as const }, { input: 1, output: 2 }, 4);
    expect(await modelUsageOf(store.db, "ses_1")).toEqual({ input: 600, output: 30 });
    expect(await modelUsageOfUser(store.db, "acme", "ada")).toEqual({ input: 601, output: 32 });
    const rows = await store.db.selectFrom("model_usage").select(["session_id", "requests", "updated_at"]).orderBy("session_id").execute();
    expect(rows).toEqual([
      { session_id: "ses_1", requests: 2, updated_at: 3 },
      { session_id: "ses_2", requests: 1, updated_at: 4 },
    ]);
  });
});
