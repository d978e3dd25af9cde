import { Command } from "commander";
import { webhookContext } from "@berth/server/events/webhooks/delivery/lane.ts";
import { loadMasterKeys } from "@berth/server/secrets/master-key.ts";
import { createSecrets, type Secrets } from "@berth/server/secrets/secrets.ts";
import type { Db } from "@berth/server/store/schema.ts";
import {
  findSealedSession,
  listSealedSessions,
  replaceSealedValues,
  type SealedSession,
} from "@berth/server/store/sessions/sealed-values.ts";
import { listSealedSecrets, replaceSealedSecrets } from "@berth/server/store/webhooks/endpoints.ts";
import { withStore } from "../../context.ts";
import { show } from "../../terminal/output.ts";

export const command = build();

function build(): Command {
  return new Command().option("--json", "print JSON").action(reseal);
}

// Re-encrypts everything that lives longer than a day. Stored responses for idempotency keys and launch URLs expire within 24
// hours; until then they need the old key.
async function reseal(options: { json?: boolean }): Promise<void> {
  await withStore(async ({ config, store }) => {
    const secrets = createSecrets(await loadMasterKeys(config, { isNewStore: false }));
    const sessions = await resealSessions(store.db, secrets);
    const webhooks = await resealWebhooks(store.db, secrets);
    show(
      options,
      { sessions, webhooks },
      () => `Encrypted with the first master key: ${sessions} sessions, ${webhooks} webhooks.\nRemove the other keys after 24 hours.\n`,
    );
  });
}

const BATCH = 500;

async function resealSessions(db: Db, secrets: Secrets): Promise<number> {
  let done = 0;
  let after = "";
  for (;;) {
    const sessions = await listSealedSessions(db, after, BATCH);
    for (const session of sessions) done += await resealSession(db, secrets, session);
    const last = sessions.at(-1);
    if (!last) return done;
    after = last.id;
  }
}

// A running server may change the row in the meantime. Then its new values are read again instead of being overwritten.
async function resealSession(db: Db, secrets: Secrets, session: SealedSession): Promise<number> {
  const { id, sandboxId, token, env, relays } = session;
  const sealAgain = (sealed: string) => secrets.seal(secrets.open(sealed, sandboxId), sandboxId);
  if (await replaceSealedValues(db, session, { token: sealAgain(token), env: env && sealAgain(env), relays: relays && sealAgain(relays) }))
    return 1;
  const current = await findSealedSession(db, id);
  return current ? resealSession(db, secrets, current) : 0;
}

async function resealWebhooks(db: Db, secrets: Secrets): Promise<number> {
  let done = 0;
  for (const endpoint of await listSealedSecrets(db)) {
    const context = webhookContext(endpoint.id);
    const sealAgain = (sealed: string) => secrets.seal(secrets.open(sealed, context), context);
    const { secret, oldSecret } = endpoint;
    const next = { secret: sealAgain(secret), oldSecret: oldSecret === null ? null : sealAgain(oldSecret) };
    if (await replaceSealedSecrets(db, endpoint, next)) done++;
  }
  return done;
}
