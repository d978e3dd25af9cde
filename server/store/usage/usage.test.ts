import { expect, test } from "vitest";
import { onBothEngines } from "../../../tests/support/databases/stores.ts";
import { DAY, HOUR } from "../../clock.ts";
import { insertPartner } from "../partners/partners.ts";
import { parseSession } from "../sessions/parse-session.ts";
import type { PartnerSession } from "../sessions/session.ts";
import { insertSessionRow, sessionRow } from "../testing/session-row.ts";
import type { Store } from "../open.ts";
import { addUsage, purgeUsage, type DayUsage } from "./days.ts";
import { readUsage, TooManyRows, type UsageQuery } from "./report.ts";
import { addTime } from "./time.ts";

const MIDNIGHT = Date.UTC(2030, 0, 10);

onBothEngines("usage in the store", (databases) => {
  const open = async () => {
    const store = await (await databases.create()).open();
    await insertPartner(store.db, { id: "acme", createdAt: 0 });
    return store;
  };
  const read = (store: Store, query: Partial<UsageQuery> = {}) => {
    const days = { fromDay: MIDNIGHT - 5 * DAY, toDay: MIDNIGHT + 5 * DAY };
    return readUsage(store.db, { partnerId: "acme", ...days, groups: [], nowMs: MIDNIGHT + DAY, maxRows: 5000, ...query });
  };

  test("time is split at midnight, before and after it has ended", async () => {
    await using store = await open();
    const fromMs = MIDNIGHT - 2 * HOUR;
    const row = await insertSessionRow(store.db, sessionRow(fromMs, { counted_from: fromMs }));
    const live = await read(store, { groups: ["day"], nowMs: MIDNIGHT + HOUR });
    expect(live.map(({ day, ms }) => [day, ms.running])).toEqual([
      [MIDNIGHT - DAY, 2 * HOUR],
      [MIDNIGHT, HOUR],
    ]);
    await addTime(store.db, parseSession(row) as PartnerSession, { kind: "running", fromMs, toMs: MIDNIGHT + HOUR });
    await store.db.updateTable("sessions").set({ counted_from: null }).execute();
    expect(await read(store, { groups: ["day"] })).toEqual(live);
    expect((await read(store, { toDay: MIDNIGHT }))[0]!.ms.running).toBe(2 * HOUR);
  });

  test("sums and peaks are added up over days and sessions", async () => {
    await using store = await open();
    const of = (session_id: string): Omit<DayUsage, "day"> => ({ session_id, partner_id: "acme", external_user_id: "ada", template: "t" });
    await addUsage(store.db, [{ ...of("a"), day: MIDNIGHT, memory_peak: 7, memory_sum: 7, memory_samples: 1 }]);
    await addUsage(store.db, [{ ...of("a"), day: MIDNIGHT, memory_peak: 5, memory_sum: 5, memory_samples: 1, egress_bytes: 3 }]);
    await addUsage(store.db, [{ ...of("b"), day: MIDNIGHT + DAY, memory_peak: 6, memory_sum: 6, memory_samples: 1, input_tokens: 9 }]);
    await addUsage(store.db, [{ ...of("b"), day: MIDNIGHT, partner_id: "other", egress_bytes: 1000 }]);
    expect(await read(store)).toMatchObject([{ memory: { peak: 7, sum: 18, samples: 3 }, egressBytes: 3, inputTokens: 9 }]);
    await purgeUsage(store.db, MIDNIGHT + DAY, 100);
    expect(await read(store)).toMatchObject([{ memory: { peak: 6, sum: 6, samples: 1 }, egressBytes: 0 }]);
  });

  test("thousands of sessions are read in slices, each session once, up to the limit of rows", async () => {
    await using store = await open();
    const count = 2500;
    const ids = Array.from({ length: count }, (_, n) => `ses_${String(n).padStart(6, "0")}`);
    await addUsage(
      store.db,
      ids.map((session_id) => ({ session_id, partner_id: "acme", external_user_id: "u", template: "t", day: MIDNIGHT, running_ms: 1 })),
    );
    const rows = await read(store, { groups: ["session"] });
    expect(rows.map(({ sessionId }) => sessionId)).toEqual(ids);
    expect(await read(store)).toMatchObject([{ ms: { running: count } }]);
    await expect(read(store, { groups: ["session"], maxRows: count - 1 })).rejects.toThrow(TooManyRows);
  });
});
