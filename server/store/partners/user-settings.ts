import { DAY, type Clock } from "../../clock.ts";
import type { Db } from "../schema.ts";

// The settings of the workspace that one user of a partner has chosen.
export interface SettingsOwner {
  partnerId: string;
  externalUserId: string;
}

export interface StoredSettings {
  // A JSON object.
  settings: string;
  // Goes up by one with every write. 0: nothing is stored.
  version: number;
}

export const createSettingsStore = ({ db }: { db: Db }, clock: Pick<Clock, "now">) => ({
  read: (owner: SettingsOwner) => readUserSettings(db, owner, clock.now()),
  write: (owner: SettingsOwner, stored: StoredSettings) => writeUserSettings(db, owner, stored, clock.now()),
});

// Reading counts as use, at most once in this time, so that most reads write nothing.
const USE_INTERVAL_MS = DAY;

export async function readUserSettings(db: Db, owner: SettingsOwner, nowMs: number): Promise<StoredSettings> {
  const row = await ofOwner(db, owner).select(["settings", "version", "used_at"]).executeTakeFirst();
  if (!row) return { settings: "{}", version: 0 };
  if (nowMs - row.used_at > USE_INTERVAL_MS)
    await db
      .updateTable("user_settings")
      .set({ used_at: nowMs })
      .where("partner_id", "=", owner.partnerId)
      .where("external_user_id", "=", owner.externalUserId)
      .execute();
  return { settings: row.settings, version: row.version };
}

// Replaces the settings if `version` is still the stored one. Returns whether it was.
export async function writeUserSettings(
  db: Db,
  { partnerId, externalUserId }: SettingsOwner,
  { settings, version }: StoredSettings,
  nowMs: number,
): Promise<boolean> {
  if (version === 0) {
    const { numInsertedOrUpdatedRows } = await db
      .insertInto("user_settings")
      .values({ partner_id: partnerId, external_user_id: externalUserId, settings, version: 1, used_at: nowMs })
      .onConflict((conflict) => conflict.columns(["partner_id", "external_user_id"]).doNothing())
      .executeTakeFirst();
    return numInsertedOrUpdatedRows === 1n;
  }
  const { numUpdatedRows } = await db
    .updateTable("user_settings")
    .set({ settings, version: version + 1, used_at: nowMs })
    .where("partner_id", "=", partnerId)
    .where("external_user_id", "=", externalUserId)
    .where("version", "=", version)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

// Deletes settings that were last used before a time and whose user has no session any more.
export async function purgeUserSettings(db: Db, beforeMs: number, limit: number): Promise<number> {
  const unused = await db
    .selectFrom("user_settings")
    .select(["partner_id", "external_user_id"])
    .where("used_at", "<", beforeMs)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("sessions")
            .select("id")
            .whereRef("sessions.partner_id", "=", "user_settings.partner_id")
            .whereRef("sessions.external_user_id", "=", "user_settings.external_user_id"),
        ),
      ),
    )
    .limit(limit)
    .execute();
  for (const { partner_id, external_user_id } of unused)
    await db
      .deleteFrom("user_settings")
      .where("partner_id", "=", partner_id)
      .where("external_user_id", "=", external_user_id)
      .where("used_at", "<", beforeMs)
      .execute();
  return unused.length;
}

const ofOwner = (db: Db, { partnerId, externalUserId }: SettingsOwner) =>
  db.selectFrom("user_settings").where("partner_id", "=", partnerId).where("external_user_id", "=", externalUserId);
