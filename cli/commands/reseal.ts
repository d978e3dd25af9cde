import { Command } from "commander";
import { webhookContext } from "@berth/server/events/lane.ts";
import { loadMasterKeys } from "@berth/server/master-key.ts";
import { createSecrets, type Secrets } from "@berth/server/secrets.ts";
import type { Db } from "@berth/server/store/schema.ts";
import { withStore } from "../context.ts";
import { show } from "../output.ts";

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

// A row that the server changes meanwhile is left to it: it seals with the first key itself.
async function resealSessions(db: Db, secrets: Secrets): Promise<number> {
  let done = 0;
  for (let after = ""; ;) {
    const rows = await db
      .selectFrom("sessions")
      .select(["id", "sandbox_id", "token", "env", "generation"])
      .where("id", ">", after as `ses_${string}`)
      .orderBy("id")
      .limit(BATCH)
      .execute();
    for (const { id, sandbox_id: sandboxId, token, env, generation } of rows) {
      if (token === "") continue;
      const again = (sealed: string) => secrets.seal(secrets.open(sealed, sandboxId), sandboxId);
      const changes = { token: again(token), env: env === null ? null : again(env) };
      const { numUpdatedRows } = await db
        .updateTable("sessions")
        .set(changes)
        .where("id", "=", id)
        .where("generation", "=", generation)
        .executeTakeFirst();
      done += Number(numUpdatedRows);
    }
    const last = rows.at(-1);
    if (!last || rows.length < BATCH) return done;
    after = last.id;
  }
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
