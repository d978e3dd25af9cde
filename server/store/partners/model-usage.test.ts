import { expect, test } from "vitest";
import { DAY } from "../../clock.ts";
import { onBothEngines } from "../../../tests/support/databases/stores.ts";
import { addModelUsage, correctModelUsage, modelUsageOf } from "./model-usage.ts";
import { modelUsageOfUser } from "../testing/model-usage-of-user.ts";

onBothEngines("model usage", (databases) => {
  test("tokens add up per session and per user, and can be corrected in both directions", async () => {
    await using store = await (await databases.create()).open();
    const session = { sessionId: "ses_1" as const, partnerId: "acme", externalUserId: "ada", template: "default" };
    await addModelUsage(store.db, session, { input: 1000, output: 0 }, DAY - 1);
    await addModelUsage(store.db, session, { input: 500, output: 0 }, DAY);
    // A correction belongs to the day of its request.
    await correctModelUsage(store.db, session, { input: -900, output: 30 }, { nowMs: DAY + 3, addedAtMs: DAY - 1 });
    await addModelUsage(store.db, { ...session, sessionId: "ses_2" as const }, { input: 1, output: 2 }, DAY + 4);
    expect(await modelUsageOf(store.db, "ses_1")).toEqual({ input: 600, output: 30 });
    expect(await modelUsageOfUser(store.db, "acme", "ada")).toEqual({ input: 601, output: 32 });
    const rows = await store.db.selectFrom("model_usage").select(["session_id", "requests", "updated_at"]).orderBy("session_id").execute();
    expect(rows).toEqual([
      { session_id: "ses_1", requests: 2, updated_at: DAY + 3 },
      { session_id: "ses_2", requests: 1, updated_at: DAY + 4 },
    ]);
    const ofSession = store.db.selectFrom("usage_days").where("session_id", "=", "ses_1").orderBy("day");
    const days = await ofSession.select(["day", "input_tokens", "output_tokens"]).execute();
    expect(days).toEqual([
      { day: 0, input_tokens: 100, output_tokens: 30 },
      { day: DAY, input_tokens: 500, output_tokens: 0 },
    ]);
  });
});
