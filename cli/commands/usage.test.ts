import { join } from "node:path";
import { expect, test } from "vitest";
import { silentLog } from "@berth/server/log.ts";
import { openStore } from "@berth/server/store/open.ts";
import { insertPartner } from "@berth/server/store/partners/partners.ts";
import { addUsage, dayOf } from "@berth/server/store/usage/days.ts";
import { createInstallationWithStore } from "../testing/installation.ts";

test("usage is shown as a table, as JSON and as CSV, for each partner", async () => {
  const { berth, json, dataDir } = await createInstallationWithStore({ BERTH_PRICE_RUNNING_HOUR: "0.5", BERTH_PRICE_CURRENCY: "EUR" });
  const store = await openStore({ file: join(dataDir, "berth.db"), log: silentLog });
  for (const id of ["acme", "other"]) await insertPartner(store.db, { id, createdAt: 0 });
  const used = { session_id: "ses_1", external_user_id: "@ada\u001B[31m", template: "default", day: dayOf(Date.now()) };
  await addUsage(store.db, [{ ...used, partner_id: "acme", running_ms: 2 * 3_600_000 + 61_000, memory_peak: 512_000_000 }]);
  await store[Symbol.asyncDispose]();

  const { stdout } = await berth("usage");
  expect(stdout).toMatch(/^PARTNER +RUNNING +PAUSED +HIBERNATED +CPU +MEMORY +DISK +SENT +RECEIVED +TOKENS +EUR$/m);
  expect(stdout).toMatch(/^acme +2:01:01 +– +– +– +512 MB +– +– +– +– +1\.01$/m);
  expect(stdout).toMatch(/^other +–/m);
  expect(await json("usage", "--partner", "acme", "--by", "user,template")).toMatchObject({
    currency: "EUR",
    data: [{ partnerId: "acme", template: "default", runningSeconds: 7261, estimatedCost: 1.008472 }],
  });
  const csv = (await berth("usage", "--by", "user", "--csv")).stdout;
  expect(csv).toMatch(/^partnerId,externalUserId,runningSeconds,/);
  expect(csv).toMatch(/^acme,'@ada.*31m,7261,/m);
  expect(csv).not.toContain("\u001B");
  expect((await berth("usage", "--from", "2020-01-01")).stderr).toBe("berth: --from must be at most 366 days before --to.\n");
});
