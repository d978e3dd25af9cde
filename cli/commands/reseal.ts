import { Command } from "commander";
import type { SessionId } from "@berth/contract";
import { webhookContext } from "@berth/server/events/webhooks/lane.ts";
import { loadMasterKeys } from "@berth/server/secrets/master-key.ts";
import { createSecrets, type Secrets } from "@berth/server/secrets/secrets.ts";
import type { Db } from "@berth/server/store/schema.ts";
import { findSession, type SessionRow } from "@berth/server/store/sessions/sessions.ts";
import { withStore } from "../context.ts";
import { show } from "../terminal/output.ts";

export const command = build();

function build(): Command {
  return new Command().option("--json", "print JSON").action(reseal);
}

// Everything that lives longer than a day is sealed anew. Stored answers for idempotency keys and launch URLs end by
// themselves within 24 hours; until then they need the old key.
async function reseal(options: { json?: boolean }): Promise<void> {
  await withStore(async ({ config, store }) => {
    const secrets = createSecrets(await loadMasterKeys(config));
    const sessions = await resealSessions(store.db, secrets);
    const webhooks = await resealWebhooks(store.db, secrets);
    show(
      options,
      { sessions, webhooks },
      () => `Sealed anew with the first master key: ${sessions} sessions, ${webhooks} webhooks.\nThe others may go in 24 hours.\n`,
    );
  });
}

const BATCH = 500;

async function resealSessions(db: Db, secrets: Secrets): Promise<number> {
  let done = 0;
  let after = "";
  for (;;) {
    const rows = await db
      .selectFrom("sessions")
      .select(["id", "token", "env", "sandbox_id"])
      .where("id", ">", after as SessionId)
      .orderBy("id")
      .limit(BATCH)
      .execute();
    for (const row of rows) if (row.token !== "") done += await resealSession(db, secrets, row);
    const last = rows.at(-1);
    if (!last) return done;
    after = last.id;
  }
}

type Sealed = Pick<SessionRow, "id" | "sandbox_id" | "token" | "env">;

// The server may be at work on the row: what has changed since it was read is not overwritten but looked at again.
async function resealSession(db: Db, secrets: Secrets, { id, sandbox_id: sandboxId, token, env }: Sealed): Promise<number> {
  const again = (sealed: string) => secrets.seal(secrets.open(sealed, sandboxId), sandboxId);
  const { numUpdatedRows } = await db
    .updateTable("sessions")
    .set({ token: again(token), env: env === null ? null : again(env) })
    .where("id", "=", id)
    .where("token", "=", token)
    .where("env", env === null ? "is" : "=", env)
    .executeTakeFirst();
  if (numUpdatedRows === 1n) return 1;
  const now = await findSession(db, id);
  return now && now.token !== "" ? resealSession(db, secrets, now) : 0;
}

async function resealWebhooks(db: Db, secrets: Secrets): Promise<number> {
  const rows = await db.selectFrom("webhook_endpoints").select(["id", "secret", "old_secret"]).execute();
  let done = 0;
  for (const { id, secret, old_secret: old } of rows) {
    const again = (sealed: string) => secrets.seal(secrets.open(sealed, webhookContext(id)), webhookContext(id));
    const changes = { secret: again(secret), old_secret: old === null ? null : again(old) };
    const { numUpdatedRows } = await db
      .updateTable("webhook_endpoints")
      .set(changes)
      .where("id", "=", id)
      .where("secret", "=", secret)
      .executeTakeFirst();
    done += Number(numUpdatedRows);
  }
  return done;
}
