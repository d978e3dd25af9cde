import { Command, InvalidArgumentError, Option } from "commander";
import type { CreateSessionToken, Session, SessionToken } from "@berth/client";
import { TOKEN_SCOPES } from "@berth/contract";
import { parseDuration } from "../arguments.ts";
import { withServer } from "../installation/server-call.ts";
import { clean, facts, orDash, relative, show, table } from "../terminal/output.ts";

// `berth session token`, `tokens`, `revoke` and `preview`: access to one session without a key, through the running server.

interface Options {
  json?: boolean;
  scope: CreateSessionToken["scopes"];
  port?: number[];
  ttl: number;
  name?: string;
  path?: string;
}

const ID = "id of a session of the partner `demo`, or of the one whose key BERTH_API_KEY is";
const ttlOption = (description: string) => new Option("--ttl <time>", description).argParser(parseDuration).default(3_600_000, "1h");

export const tokenCommands = (): Command[] => [
  new Command("token")
    .description("create a token that opens one session, and print it")
    .argument("<id>", ID)
    .addOption(new Option("--scope <names...>", "the parts of the session that it opens").choices(TOKEN_SCOPES).makeOptionMandatory())
    .option("--port <number>", "with the scope ports: only this port; may be repeated", addPort)
    .addOption(ttlOption("how long it works, up to 30d"))
    .option("--name <text>", "a name for people")
    .option("--json", "print JSON")
    .action(create),
  new Command("tokens").description("list the tokens of a session").argument("<id>", ID).option("--json", "print JSON").action(list),
  new Command("revoke")
    .description("revoke a token of a session")
    .argument("<id>", ID)
    .argument("<token>", "the id of the token")
    .option("--json", "print JSON")
    .action(revoke),
  new Command("preview")
    .description("print a signed URL that opens a web server in the sandbox")
    .argument("<id>", ID)
    .argument("<port>", "the port on which it listens", parsePort)
    .addOption(ttlOption("how long it works, up to 7d"))
    .option("--path <path>", "the path at which it opens")
    .option("--json", "print JSON")
    .action(previewUrl),
];

const withSession = (id: string, work: (session: Session) => Promise<void>): Promise<void> =>
  withServer(async ({ sessions }) => work(await sessions.get(id)));

async function create(id: string, options: Options): Promise<void> {
  const { scope: scopes, port: ports, ttl: ttlMs, name } = options;
  await withSession(id, async ({ tokens }) => {
    const token = await tokens.create({ scopes, ttlMs, ...(ports && { ports }), ...(name !== undefined && { name }) });
    show(options, token, () =>
      facts([
        ["token", token.token],
        ["id", token.tokenId],
        ["scopes", scopesText(token)],
        ["expires", `${token.expiresAt} (${relative(Date.parse(token.expiresAt))})`],
      ]),
    );
  });
}

async function list(id: string, options: { json?: boolean }): Promise<void> {
  await withSession(id, async ({ tokens }) => {
    const found = await tokens.list();
    show(options, found, () =>
      table(
        found,
        [
          { name: "token", value: ({ tokenId }) => tokenId },
          { name: "name", value: ({ name }) => orDash(name === "" ? null : clean(name, 24)) },
          { name: "state", value: ({ state }) => state },
          { name: "created", value: ({ createdAt }) => relative(Date.parse(createdAt)) },
          { name: "ends", value: ({ revokedAt, expiresAt }) => relative(Date.parse(revokedAt ?? expiresAt)) },
          { name: "scopes", value: scopesText },
        ],
        "No tokens.",
      ),
    );
  });
}

async function revoke(id: string, tokenId: string, options: { json?: boolean }): Promise<void> {
  await withSession(id, async ({ tokens }) => {
    const token = await tokens.revoke(tokenId);
    show(options, token, () => `The token ${token.tokenId} is revoked.\n`);
  });
}

async function previewUrl(id: string, port: number, options: Options): Promise<void> {
  await withSession(id, async (session) => {
    const { ttl: ttlMs, path } = options;
    const issued = await session.previewUrl(port, { ttlMs, ...(path !== undefined && { path }) });
    show(options, issued, () => `${issued.url}\n`);
  });
}

const scopesText = ({ scopes, ports }: SessionToken): string =>
  scopes.map((scope) => (scope === "ports" && ports ? `ports (${ports.join(", ")})` : scope)).join(", ");

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port < 1 || port > 65_535) throw new InvalidArgumentError("Allowed: a whole number from 1 to 65535.");
  return port;
}

const addPort = (text: string, earlier: number[] = []): number[] => [...earlier, parsePort(text)];
