import type { Selectable } from "kysely";
import type { Db, QuarantineTable } from "./schema.ts";
import type { Site } from "./sessions/session.ts";

// Files of people whose row is missing: a sandbox, a snapshot or a volume that the engine has and the store does not know. They stay
// where they are until their time is over.
export interface Quarantined {
  kind: QuarantineKind;
  id: string;
  site: Site;
  // JSON of the session that the sandbox had, as far as it is known (sessions/quarantine/session-records.ts).
  session: string | null;
  foundAtMs: number;
  // The sandbox is not deleted before this time.
  deleteAtMs: number;
}

export type QuarantineKind = QuarantineTable["kind"];

// No-op if it is there already: its time is not changed.
export async function addQuarantined(db: Db, { kind, id, site, session, foundAtMs, deleteAtMs }: Quarantined): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("quarantine")
    .values({ kind, id, ...site, session, found_at: foundAtMs, delete_at: deleteAtMs })
    .onConflict((conflict) => conflict.columns(["kind", "id"]).doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

// The rows of one site, or of all sites, in the order in which they were found.
export async function listQuarantined(db: Db, site?: Site): Promise<Quarantined[]> {
  const all = db.selectFrom("quarantine").selectAll().orderBy("found_at").orderBy("id");
  const rows = await (site ? all.where(({ and }) => and({ ...site })) : all).execute();
  return rows.map(parse);
}

// Removes the row and returns it, so that of several callers one acts on it. null: it is not there.
export async function takeQuarantined(db: Db, kind: QuarantineKind, id: string): Promise<Quarantined | null> {
  const row = await db.deleteFrom("quarantine").where("kind", "=", kind).where("id", "=", id).returningAll().executeTakeFirst();
  return row ? parse(row) : null;
}

const parse = ({ kind, id, driver, host, session, found_at, delete_at }: Selectable<QuarantineTable>): Quarantined => ({
  kind,
  id,
  site: { driver, host },
  session,
  foundAtMs: found_at,
  deleteAtMs: delete_at,
});
