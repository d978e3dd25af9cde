import { userInfo } from "node:os";
import { Command } from "commander";
import { DAY, HOUR } from "@berth/server/clock.ts";
import { baseUrlOf } from "@berth/server/config/config.ts";
import {
  issueOperatorToken,
  listOperatorTokens,
  revokeOperatorToken,
  type OperatorToken,
} from "@berth/server/keys/console/operator-tokens.ts";
import { parseDuration } from "../arguments.ts";
import { withStore } from "../context.ts";
import { clean, facts, isoOf, relative, show, state, table } from "../terminal/output.ts";
import { style } from "../terminal/style.ts";

interface Options {
  json?: boolean;
  name?: string;
  expires: number;
}

// An operator token can do everything, so it does not live long by default.
const DEFAULT_LIFETIME_MS = 12 * HOUR;
const MAX_LIFETIME_MS = 365 * DAY;
// Entries of the audit log that belong to no partner.
const NO_PARTNER = "";

export const command = build();

function build(): Command {
  const group = new Command();
  group
    .command("token")
    .description("create a token for signing in to the console")
    .option("--name <name>", "the name of the person, for the audit log (default: your user name)")
    .option("--expires <time>", "expire the token after this time, at most 365d (default: 12h)", parseDuration, DEFAULT_LIFETIME_MS)
    .option("--json", "print JSON")
    .action(issue);
  group.command("list").description("list tokens without their secret part").option("--json", "print JSON").action(list);
  group
    .command("revoke")
    .description("revoke a token and sign out everyone who used it")
    .argument("<token>", "id of the token, as `berth console list` shows it")
    .option("--json", "print JSON")
    .action(revoke);
  return group;
}

async function issue(options: Options): Promise<void> {
  await withStore(async ({ config, change, clock }) => {
    const { name = userInfo().username, expires } = options;
    if (expires < 1 || expires > MAX_LIFETIME_MS) throw new Error("--expires must be more than 0 and at most 365d.");
    const issued = await change(async (tx, note) => {
      const made = await issueOperatorToken(tx, clock, { name, expiresAt: clock.now() + expires });
      await note("console.token_issue", NO_PARTNER, made.id);
      return made;
    });
    const url = `${baseUrlOf(config, config.port)}/console`;
    show(options, { token: { ...tokenJson(issued), token: issued.token }, url }, () => {
      const lines = facts([
        ["console", url],
        ["token", style.bold(issued.token)],
        ["expires", relative(issued.expiresAt)],
      ]);
      return `${lines}${style.yellow("Save the token now:")} it is stored as a hash and cannot be shown again.\n`;
    });
  });
}

async function list(options: Options): Promise<void> {
  await withStore(async ({ store, clock }) => {
    const tokens = await listOperatorTokens(store.db, clock);
    show(options, tokens.map(tokenJson), () =>
      table(
        tokens,
        [
          { name: "token", value: ({ id }) => id },
          { name: "name", value: ({ name }) => clean(name) },
          { name: "hint", value: ({ hint }) => hint },
          { name: "state", value: (token) => state(token.state) },
          { name: "created", value: ({ createdAt }) => relative(createdAt) },
          { name: "last used", value: ({ lastUsedAt }) => relative(lastUsedAt) },
          { name: "expires", value: ({ revokedAt, expiresAt }) => relative(revokedAt ?? expiresAt) },
        ],
        "No tokens yet. Create one with: berth console token",
      ),
    );
  });
}

async function revoke(id: string, options: Options): Promise<void> {
  await withStore(async ({ change, clock }) => {
    const revoked = await change(async (tx, note) => {
      const token = await revokeOperatorToken(tx, clock, id);
      await note("console.token_revoke", NO_PARTNER, id);
      return token;
    });
    show(options, { token: tokenJson(revoked) }, () => `The token ${revoked.hint} of ${clean(revoked.name)} is revoked.\n`);
  });
}

const tokenJson = ({ id, name, hint, state: tokenState, ...times }: OperatorToken) => ({
  id,
  name,
  hint,
  state: tokenState,
  createdAt: isoOf(times.createdAt),
  lastUsedAt: isoOf(times.lastUsedAt),
  expiresAt: isoOf(times.expiresAt),
  revokedAt: isoOf(times.revokedAt),
});
