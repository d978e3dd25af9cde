import { join } from "node:path";
import { silentLog } from "../../server/log.ts";
import { openStore, type Store } from "../../server/store/open.ts";
import type { SessionRow } from "../../server/store/sessions/parse-session.ts";
import { sessionRow } from "../../server/store/testing/session-row.ts";
import type { Berth } from "../../tests/support/servers/berth.ts";

const PER_TRANSACTION = 1000;
const PER_STATEMENT = 50;
const DAY_MS = 24 * 60 * 60 * 1000;

type Place = Pick<Berth, "dataDir" | "env">;

// Adds rows of destroyed sessions, a day old, to the server's database. The server may be running.
export async function addSessionRows(place: Place, count: number): Promise<void> {
  await using store = await openDatabase(place);
  const dayAgoMs = Date.now() - DAY_MS;
  for (let done = 0; done < count; done += PER_TRANSACTION)
    await store.transaction(async (tx) => {
      const rows = Array.from({ length: Math.min(PER_TRANSACTION, count - done) }, (_, i) => destroyedRow(dayAgoMs, done + i));
      for (let at = 0; at < rows.length; at += PER_STATEMENT)
        await tx
          .insertInto("sessions")
          .values(rows.slice(at, at + PER_STATEMENT))
          .execute();
    });
}

function destroyedRow(dayAgoMs: number, index: number): SessionRow {
  return sessionRow(dayAgoMs - index, {
    partner_id: "demo",
    external_user_id: `user-${index % 500}`,
    state: "destroyed",
    generation: 3,
    driver: "oci",
    expires_at: null,
    destroyed_at: dayAgoMs,
  });
}

// Whether the processes of a paused session have ended.
export async function isHibernated(store: Store, sessionId: string): Promise<boolean> {
  const row = await store.db
    .selectFrom("sessions")
    .selectAll()
    .where("id", "=", sessionId as SessionRow["id"])
    .executeTakeFirstOrThrow();
  return row.state === "paused" && row.hibernated === 1;
}

// The database of a server that has created it.
export function openDatabase({ dataDir, env }: Place): Promise<Store> {
  return openStore({ url: env.BERTH_DATABASE_URL ?? null, file: join(dataDir, "berth.db"), log: silentLog, migrate: false });
}
