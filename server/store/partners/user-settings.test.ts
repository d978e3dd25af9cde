import { expect, test } from "vitest";
import { onBothEngines } from "../../../tests/support/databases/stores.ts";
import { DAY } from "../../clock.ts";
import { insertSessionRow, sessionRow } from "../testing/session-row.ts";
import { insertPartner } from "./partners.ts";
import { purgeUserSettings, readUserSettings, writeUserSettings } from "./user-settings.ts";

const ada = { partnerId: "acme", externalUserId: "ada" };

onBothEngines("user settings", (databases) => {
  test("a write needs the version that is stored", async () => {
    await using store = await (await databases.create()).open();
    const { db } = store;
    expect(await readUserSettings(db, ada, 1)).toEqual({ settings: "{}", version: 0 });
    expect(await writeUserSettings(db, ada, { settings: '{"a":1}', version: 0 }, 1)).toBe(true);
    expect(await writeUserSettings(db, ada, { settings: '{"a":2}', version: 0 }, 1)).toBe(false);
    expect(await writeUserSettings(db, ada, { settings: '{"a":3}', version: 1 }, 1)).toBe(true);
    expect(await writeUserSettings(db, ada, { settings: '{"a":4}', version: 1 }, 1)).toBe(false);
    expect(await readUserSettings(db, ada, 1)).toEqual({ settings: '{"a":3}', version: 2 });
  });

  test("users and partners do not share settings", async () => {
    await using store = await (await databases.create()).open();
    const { db } = store;
    await writeUserSettings(db, ada, { settings: '{"a":1}', version: 0 }, 1);
    for (const other of [
      { ...ada, partnerId: "globex" },
      { ...ada, externalUserId: "bob" },
    ]) {
      expect(await readUserSettings(db, other, 1)).toEqual({ settings: "{}", version: 0 });
      expect(await writeUserSettings(db, other, { settings: "{}", version: 1 }, 1)).toBe(false);
    }
  });

  test("settings are deleted when they were not used for long and the user has no session", async () => {
    await using store = await (await databases.create()).open();
    const { db } = store;
    const users = ["gone", "reader", "owner"].map((externalUserId) => ({ partnerId: "acme", externalUserId }));
    for (const user of users) await writeUserSettings(db, user, { settings: '{"a":1}', version: 0 }, 1);
    await readUserSettings(db, users[1]!, 2 * DAY);
    await insertPartner(db, { id: "acme", createdAt: 1 });
    await insertSessionRow(db, sessionRow(1, { external_user_id: "owner" }));
    await purgeUserSettings(db, 2 * DAY, 10);
    const left = await db.selectFrom("user_settings").select("external_user_id").orderBy("external_user_id").execute();
    expect(left.map((row) => row.external_user_id)).toEqual(["owner", "reader"]);
  });
});
