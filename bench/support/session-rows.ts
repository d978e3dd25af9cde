import { join } from "node:path";
import { silentLog } from "../../server/log.ts";
import { openStore } from "../../server/store/open.ts";
import { sessionRow } from "../../server/store/testing/session-row.ts";
import type { Berth } from "../../tests/support/servers/berth.ts";

const PER_TRANSACTION = 1000;
const PER_STATEMENT = 100;
const DAY_MS = 24 * 60 * 60 * 1000;

// Adds rows of destroyed sessions to the server's database, as after a busy year. The server may be running.
export async function addSessionRows({ dataDir, env }: Pick<Berth, "dataDir" | "env">, count: number, ageMs = DAY_MS): Promise<void> {
  const url = env.BERTH_DATABASE_URL ?? null;
  await using store = await openStore({ url, file: join(dataDir, "berth.db"), log: silentLog });
  const nowMs = Date.now() - ageMs;
  for (let done = 0; done < count; done += PER_TRANSACTION)
    await store.transaction(async (tx) => {
      const rows = Array.from({ length: Math.min(PER_TRANSACTION, count - done) }, (_, i) =>
        sessionRow(nowMs - done - i, {
          partner_id: "demo",
          external_user_id: `user-${(done + i) % 500}`,
          state: "destroyed",
          generation: 3,
          driver: "oci",
          expires_at: null,
          destroyed_at: nowMs,
        }),
      );
      for (let at = 0; at < rows.length; at += PER_STATEMENT)
        await tx
          .insertInto("sessions")
          .values(rows.slice(at, at + PER_STATEMENT))
          .execute();
    });
}
