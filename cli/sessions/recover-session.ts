import { isSandboxId } from "@berth/contract";
import { getPartner } from "@berth/server/keys/partners.ts";
import { loadMasterKeys } from "@berth/server/secrets/master-key.ts";
import { createSecrets } from "@berth/server/secrets/secrets.ts";
import { recoverSession, type Recovered } from "@berth/server/sessions/quarantine/recover.ts";
import type { SessionRecord } from "@berth/server/sessions/quarantine/session-records.ts";
import { listQuarantined, type Quarantined } from "@berth/server/store/quarantine.ts";
import { loadTemplates } from "@berth/server/templates.ts";
import { withStore, type Context } from "../context.ts";
import { clean, isoOf, orDash, relative, show, table } from "../terminal/output.ts";

export interface RecoverArguments {
  json?: boolean;
  partner?: string;
  user?: string;
  template?: string;
  all?: boolean;
}

// Without an id, lists the sandboxes in quarantine.
export async function recover(id: string | undefined, options: RecoverArguments): Promise<void> {
  await withStore(async (context) => {
    const entries = (await listQuarantined(context.store.db)).filter(({ kind }) => kind === "sandbox");
    if (options.all) return recoverAll(context, entries, options);
    if (id === undefined) return listAll(entries, options);
    const recovered = await recoverOne(context, id, options);
    show(options, recoveredJson(recovered), () => recoveredText(recovered));
  });
}

async function recoverOne({ config, change, clock }: Context, id: string, options: RecoverArguments): Promise<Recovered> {
  if (!isSandboxId(id)) throw new Error(`${id} is not the id of a sandbox. \`berth session recover\` lists those in quarantine.`);
  const secrets = createSecrets(await loadMasterKeys(config, { isNewStore: false }));
  const templates = loadTemplates(config.templatesFile ?? undefined);
  return await change(async (tx, note) => {
    const named = { partnerId: options.partner, externalUserId: options.user, template: options.template };
    const recovered = await recoverSession(tx, { secrets, templates, clock }, id, named);
    await getPartner(tx, recovered.session.partnerId);
    await note("session.recover", recovered.session.partnerId, recovered.session.id);
    return recovered;
  });
}

// Each in a transaction of its own, so that one that fails does not hold up the others.
async function recoverAll(context: Context, entries: Quarantined[], options: RecoverArguments): Promise<void> {
  const recovered: Recovered[] = [];
  const failures: string[] = [];
  for (const { id } of entries.filter(({ session }) => session !== null || options.partner !== undefined))
    await recoverOne(context, id, options).then(
      (one) => recovered.push(one),
      (error: unknown) => failures.push(`${id}: ${error instanceof Error ? error.message : String(error)}`),
    );
  const left = entries.length - recovered.length;
  show(options, { recovered: recovered.map(recoveredJson), left, failures }, () =>
    [
      ...recovered.map(recoveredText),
      ...failures.map((failure) => `Not recovered: ${failure}\n`),
      `${recovered.length} recovered, ${left} left in quarantine.\n`,
    ].join(""),
  );
}

const recoveredJson = ({ session }: Recovered) => ({
  sessionId: session.id,
  sandboxId: session.sandboxId,
  partner: session.partnerId,
  externalUserId: session.externalUserId,
  status: "paused",
});

const recoveredText = ({ session, hasSecrets }: Recovered) =>
  `${session.sandboxId} is the sandbox of ${session.id} again, of the user ${clean(session.externalUserId)} of ${session.partnerId}. It is paused${
    hasSecrets ? "" : ", without environment variables"
  }.\n`;

function listAll(entries: Quarantined[], options: RecoverArguments): void {
  const rows = entries.map((entry) => ({ ...entry, record: entry.session === null ? null : (JSON.parse(entry.session) as SessionRecord) }));
  const json = rows.map(({ id, site, record, foundAtMs, deleteAtMs }) => ({
    sandboxId: id,
    driver: site.driver,
    host: site.host,
    sessionId: record?.sessionId ?? null,
    partner: record?.owner.partnerId ?? null,
    externalUserId: record?.owner.externalUserId ?? null,
    template: record?.template ?? null,
    foundAt: isoOf(foundAtMs),
    deleteAt: isoOf(deleteAtMs),
  }));
  show(options, json, () =>
    table(
      rows,
      [
        { name: "sandbox", value: ({ id }) => id },
        { name: "session", value: ({ record }) => orDash(record?.sessionId ?? null) },
        { name: "partner", value: ({ record }) => orDash(record?.owner.partnerId ?? null) },
        { name: "user", value: ({ record }) => orDash(record && clean(record.owner.externalUserId, 24)) },
        { name: "found", value: ({ foundAtMs }) => relative(foundAtMs) },
        { name: "deleted", value: ({ deleteAtMs }) => relative(deleteAtMs) },
      ],
      "No sandbox is in quarantine.",
    ),
  );
}
