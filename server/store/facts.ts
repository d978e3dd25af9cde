import type { Db } from "./schema.ts";

// What an installation remembers about itself from one start to the next. The value is text or JSON, as its reader decides.

export async function readFact(db: Db, name: string): Promise<string | null> {
  const row = await db.selectFrom("facts").select("value").where("name", "=", name).executeTakeFirst();
  return row?.value ?? null;
}

export async function writeFact(db: Db, name: string, value: string): Promise<void> {
  await db
    .insertInto("facts")
    .values({ name, value })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
    .execute();
}
