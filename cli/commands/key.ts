import { Command, Option } from "commander";
import { KEY_SCOPES, type KeyScope } from "@berth/contract";
import type { Clock } from "@berth/server/clock.ts";
import { issueKey, listKeys, revokeKey, rotateKey, ROTATION_OVERLAP_MS, type IssuedKey, type Key } from "@berth/server/keys/keys.ts";
import { getPartner } from "@berth/server/keys/partners.ts";
import { parseDuration, parseExpiry, type Limit } from "../arguments.ts";
import { withStore } from "../context.ts";
import { clean, facts, isoOf, orDash, relative, show, state, table } from "../terminal/output.ts";
import { style } from "../terminal/style.ts";

interface Options {
  json?: boolean;
  expires?: Limit;
  name?: string;
  scope?: KeyScope;
  overlap?: number;
  now?: boolean;
}

export const command = build();

function build(): Command {
  const group = new Command();
  group
    .command("issue <partner>")
    .description("create another key for a partner")
    .option("--expires <time>", "expire the key after this time, such as 90d, or `none`", parseExpiry)
    .option("--name <name>", "a name for the key")
    .addOption(new Option("--scope <scope>", "the calls that the key may make").choices(KEY_SCOPES).default("admin"))
    .option("--json", "print JSON")
    .action(issue);
  group.command("list [partner]").description("list keys without their secret part").option("--json", "print JSON").action(list);
  group
    .command("rotate")
    .description("create a new key and expire the old one in 24 hours")
    .argument("<key>", "id of the old key, as `berth key list` shows it")
    .option("--overlap <time>", "expire the old key after this time instead", parseDuration)
    .option("--now", "revoke the old key at once")
    .option("--expires <time>", "expire the new key after this time, or `none` (default: the lifetime of the old key)", parseExpiry)
    .option("--json", "print JSON")
    .action(rotate);
  group
    .command("revoke")
    .description("revoke a key at once")
    .argument("<key>", "id of the key")
    .option("--json", "print JSON")
    .action(revoke);
  return group;
}

async function issue(partnerId: string, options: Options): Promise<void> {
  await withStore(async ({ change, clock }) => {
    const expiresAt = expiryOf(options, clock) ?? null;
    const key = await change(async (tx, note) => {
      const { name, scope } = options;
      const issued = await issueKey(tx, clock, partnerId, { ...(name && { name }), ...(scope && { scope }), expiresAt });
      await note("key.issue", partnerId, issued.id);
      return issued;
    });
    show(options, { key: issuedKeyJson(key) }, () => newKeyText(key));
  });
}

async function list(partnerId: string | undefined, options: Options): Promise<void> {
  await withStore(async ({ store, clock }) => {
    if (partnerId !== undefined) await getPartner(store.db, partnerId);
    const keys = await listKeys(store.db, clock, partnerId);
    show(options, keys.map(keyJson), () =>
      table(
        keys,
        [
          { name: "key", value: (key) => key.id },
          { name: "partner", value: (key) => key.partnerId },
          { name: "name", value: (key) => orDash(clean(key.name)) },
          { name: "scope", value: (key) => key.scope },
          { name: "hint", value: (key) => key.hint },
          { name: "state", value: (key) => state(key.state) },
          { name: "created", value: (key) => relative(key.createdAt) },
          { name: "last used", value: (key) => relative(key.lastUsedAt) },
          { name: "expires", value: (key) => relative(key.revokedAt ?? key.expiresAt) },
        ],
        "No keys yet. Create one with: berth key issue <partner>",
      ),
    );
  });
}

async function rotate(id: string, options: Options): Promise<void> {
  await withStore(async ({ change, clock }) => {
    const overlapMs = options.now ? 0 : (options.overlap ?? ROTATION_OVERLAP_MS);
    const expiresAt = expiryOf(options, clock);
    const { issued, old } = await change(async (tx, note) => {
      const rotated = await rotateKey(tx, clock, id, { overlapMs, ...(expiresAt !== undefined && { expiresAt }) });
      await note("key.rotate", rotated.old.partnerId, id);
      await note("key.issue", rotated.old.partnerId, rotated.issued.id);
      return rotated;
    });
    const ending = old.state === "revoked" ? "is revoked" : `expires ${relative(old.expiresAt)}`;
    show(options, { key: issuedKeyJson(issued), old: keyJson(old) }, () => `${newKeyText(issued)}\nThe old key ${old.hint} ${ending}.\n`);
  });
}

async function revoke(id: string, options: Options): Promise<void> {
  await withStore(async ({ change, clock }) => {
    const key = await change(async (tx, note) => {
      const revoked = await revokeKey(tx, clock, id);
      await note("key.revoke", revoked.partnerId, id);
      return revoked;
    });
    show(
      options,
      { key: keyJson(key) },
      () => `The key ${key.hint} of ${key.partnerId} is revoked. Servers on other machines reject it within 5 s.\n`,
    );
  });
}

// undefined if the command does not name one; null for never.
function expiryOf({ expires }: Options, clock: Clock): number | null | undefined {
  return typeof expires === "number" ? clock.now() + expires : expires && null;
}

// The only place with the secret, which is shown once.
export const issuedKeyJson = (issued: IssuedKey) => ({ ...keyJson(issued), key: issued.key });

const keyJson = ({ id, partnerId, name, scope, hint, state: keyState, ...times }: Key) => ({
  id,
  partnerId,
  name,
  scope,
  hint,
  state: keyState,
  createdAt: isoOf(times.createdAt),
  lastUsedAt: isoOf(times.lastUsedAt),
  expiresAt: isoOf(times.expiresAt),
  revokedAt: isoOf(times.revokedAt),
});

export const newKeyText = (issued: IssuedKey) =>
  facts([
    ["key id", issued.id],
    ["key", style.bold(issued.key)],
    ["scope", issued.scope],
    ...(issued.expiresAt === null ? [] : [["expires", relative(issued.expiresAt)] as const]),
  ]) + `${style.yellow("Save the key now:")} it is stored as a hash and cannot be shown again.\n`;
