import { randomUUID } from "node:crypto";
import type { Db } from "./schema.ts";

// Facts that an installation keeps from one start to the next. Each value is text or JSON, as its reader decides.

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

// The id of this store. The first caller gives it one.
export async function ensureInstallationId(db: Db): Promise<string> {
  const row = { name: INSTALLATION, value: randomUUID() };
  await db
    .insertInto("facts")
    .values(row)
    .onConflict((conflict) => conflict.column("name").doNothing())
    .execute();
  return (await readFact(db, INSTALLATION)) ?? row.value;
}

export const readInstallationFact = (db: Db): Promise<string | null> => readFact(db, INSTALLATION);

const INSTALLATION = "installation";
