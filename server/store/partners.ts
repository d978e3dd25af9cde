import type { Db } from "./schema.ts";

// PostgreSQL lets two transactions count at once. Writing the partner's row makes the second wait for the first.
export async function lockPartner(db: Db, partnerId: string): Promise<void> {
  await db.updateTable("partners").set({ id: partnerId }).where("id", "=", partnerId).execute();
}
