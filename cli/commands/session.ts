import { setTimeout as delay } from "node:timers/promises";
import { Command, Option } from "commander";
import { MAX_FORKS, SESSION_STATUSES, type SessionStatus } from "@berth/contract";
import { describeMs } from "@berth/server/config/kinds.ts";
import { modelUsageOf } from "@berth/server/store/partners/model-usage.ts";
import { listSessionDetails, type SessionDetails } from "@berth/server/store/sessions/listing/details.ts";
import { STEPS } from "@berth/server/sessions/states/outcome.ts";
import { parseCount } from "../arguments.ts";
import { withStore, type Context } from "../context.ts";
import { limitCommands } from "../sessions/change-limits.ts";
import { forkSession, takeSnapshot } from "../sessions/copy-session.ts";
import { getSession, markSession, STEP_WAIT_MS } from "../sessions/mark-session.ts";
import { recover } from "../sessions/recover-session.ts";
import { processCommands } from "../sessions/session-processes.ts";
import { runsCommand } from "../sessions/session-runs.ts";
import { tokenCommands } from "../sessions/session-tokens.ts";
import { setupText, sourceText } from "../sessions/setup-text.ts";
import { clean, cut, facts, isoOf, noteMore, orDash, relative, show, state, table } from "../terminal/output.ts";

interface Options {
  json?: boolean;
  partner?: string;
  status?: SessionStatus;
  limit: number;
}

export const command = build();

function build(): Command {
  const group = new Command();
  group
    .command("list")
    .description("list live sessions, newest first")
    .option("--partner <id>", "only sessions of this partner")
    .addOption(new Option("--status <status>", "only sessions with this status (default: all except destroyed)").choices(SESSION_STATUSES))
    .option("--limit <n>", "maximum number of sessions", parseCount, 50)
    .option("--json", "print JSON")
    .action(list);
  group
    .command("show")
    .description("show all details of a session")
    .argument("<id>", "id of the session or of its sandbox")
    .option("--json", "print JSON")
    .action(showOne);
  group
    .command("wake")
    .description("resume a paused session")
    .argument("<id>", "id of the session or of its sandbox")
    .option("--json", "print JSON")
    .action(wake);
  group
    .command("snapshot <id>")
    .description("copy the files of a session of the partner `demo`, or of the one whose key BERTH_API_KEY is")
    .option("--name <text>", "a name for people")
    .option("--json", "print JSON")
    .action(takeSnapshot);
  group
    .command("fork <id>")
    .description("create sessions with the files of such a session")
    .option("--count <n>", `how many, up to ${MAX_FORKS}`, parseCount, 1)
    .option("--user <id>", "the user that they are for", "me")
    .option("--json", "print JSON")
    .action(forkSession);
  group
    .command("recover [sandbox]")
    .description("list sandboxes that lost their session, or give one a session again, with its files")
    .option("--all", "every sandbox whose session is known, or with --partner and --user every one")
    .option("--partner <id>", "the partner of the session, if it is not known")
    .option("--user <id>", "the user of the session, if it is not known")
    .option("--template <name>", "the template of the session, if it is not known (default: default)")
    .option("--json", "print JSON")
    .action(recover);
  group.command("destroy <id>").description("destroy a session, its sandbox and its files").option("--json", "print JSON").action(destroy);
  for (const one of [...limitCommands(), ...processCommands(), runsCommand(), ...tokenCommands()]) group.addCommand(one);
  return group;
}

async function list(options: Options): Promise<void> {
  await withStore(async ({ store }) => {
    const { partner, status, limit } = options;
    const filter = { ...(partner && { partnerId: partner }), ...(status && { status }) };
    const { rows: sessions, hasMore } = cut(await listSessionDetails(store.db, { ...filter, limit: limit + 1 }), limit);
    show(options, sessions.map(sessionJson), () =>
      table(
        sessions,
        [
          { name: "session", value: ({ id }) => id },
          { name: "partner", value: ({ partnerId }) => partnerId },
          { name: "user", value: ({ externalUserId }) => clean(externalUserId ?? "", 24) },
          { name: "status", value: stateText },
          { name: "template", value: ({ template }) => template },
          { name: "created", value: ({ createdAt }) => relative(createdAt) },
          { name: "times out", value: ({ expiresAt }) => relative(expiresAt) },
        ],
        "No sessions.",
      ),
    );
    if (hasMore) noteMore(`There are more than these ${limit} sessions. Raise --limit, or use --partner or --status.`);
  });
}

async function showOne(id: string, options: Options): Promise<void> {
  await withStore(async ({ store }) => {
    const session = await getSession(store.db, id);
    const { site, expiresAt, createdAt } = session;
    const modelTokens = await modelUsageOf(store.db, session.id);
    show(options, { ...sessionJson(session), modelTokens }, () =>
      facts([
        ["session", session.id],
        ["sandbox", session.sandboxId],
        ["partner", session.partnerId],
        ["user", clean(session.externalUserId ?? "", 200)],
        ["status", stateText(session)],
        ["template", session.template],
        ["driver", `${site.driver}${site.host === null ? "" : ` on ${site.host}`}`],
        ["created", `${isoOf(createdAt)} (${relative(createdAt)})`],
        ["times out", expiresAt === null ? orDash(null) : `${isoOf(expiresAt)} (${relative(expiresAt)})`],
        ["idle timeout", session.idleTimeoutMs === null ? orDash(null) : describeMs(session.idleTimeoutMs)],
        ["after the timeout", session.onTimeout],
        ["resumes when opened", session.autoResume ? "yes" : "no"],
        ["resources", session.resources ? JSON.stringify(session.resources) : "of the template"],
        ["egress", session.egress ? clean(JSON.stringify(session.egress), 200) : "of the template"],
        ["source", clean(sourceText(session.setup), 300)],
        ["setup", setupText(session.setup)],
        ["volumes", orDash((session.volumes ?? []).map(({ name, path, mode }) => `${name} at ${path} (${mode})`).join(", ") || null)],
        ["paused", relative(session.pausedAt)],
        ["destroyed", relative(session.destroyedAt)],
        ["last stopped by", orDash(session.stopReason)],
        ["model tokens", `${modelTokens.input} in, ${modelTokens.output} out`],
        ["metadata", clean(session.metadataJson, 500)],
      ]),
    );
  });
}

async function destroy(id: string, options: Options): Promise<void> {
  await withStore(async (context) => {
    const marked = await markSession(context, id, "operator_destroy");
    const ended = await waitWhileIn(context, marked, "destroying");
    const isDestroyed = ended.state === "destroyed";
    const text = isDestroyed
      ? `The session ${ended.id} is destroyed.\n`
      : `The session ${ended.id} is marked for destruction. No server has started yet to destroy it; the next one that runs will.\n`;
    show(options, { sessionId: ended.id, status: isDestroyed ? "destroyed" : "destroying" }, () => text);
  });
}

async function wake(id: string, options: Options): Promise<void> {
  await withStore(async (context) => {
    const marked = await markSession(context, id, "operator_wake");
    const ended = await waitWhileIn(context, marked, "resuming");
    if (ended.state === "paused") throw new Error(`The session ${ended.id} could not be resumed. The server's log says why.`);
    const isResumed = ended.status === "running";
    const text = isResumed
      ? `The session ${ended.id} is running.\n`
      : `The session ${ended.id} is marked to be resumed. No server has started yet to resume it; the next one that runs will.\n`;
    show(options, { sessionId: ended.id, status: isResumed ? "running" : "resuming" }, () => text);
  });
}

// Waits until the server has ended the step, or for as long as it may take to take it over.
async function waitWhileIn({ store, clock }: Context, marked: SessionDetails, step: SessionDetails["state"]): Promise<SessionDetails> {
  const untilMs = clock.now() + STEP_WAIT_MS;
  let session = marked;
  while (session.state === step && clock.now() <= untilMs) {
    await delay(100);
    session = await getSession(store.db, marked.id);
  }
  return session;
}

function stateText({ status, state: now }: SessionDetails): string {
  const isInStep = STEPS.some((step) => step === now);
  return isInStep ? `${state(status ?? now)} (${now})` : state(status ?? now);
}

const sessionJson = (session: SessionDetails) => ({
  sessionId: session.id,
  sandboxId: session.sandboxId,
  partnerId: session.partnerId,
  externalUserId: session.externalUserId,
  status: session.status,
  state: session.state,
  template: session.template,
  driver: session.site.driver,
  host: session.site.host,
  metadata: JSON.parse(session.metadataJson) as Record<string, string>,
  timeoutMs: session.timeoutMs,
  idleTimeoutMs: session.idleTimeoutMs,
  autoResume: session.autoResume,
  onTimeout: session.onTimeout,
  maxTimeoutMs: session.maxTimeoutMs,
  resources: session.resources,
  egress: session.egress,
  source: session.setup?.source ?? null,
  setup: session.setup && { status: session.setup.status, exitCode: session.setup.exitCode },
  volumes: (session.volumes ?? []).map(({ name, path, mode }) => ({ name, path, mode })),
  hibernated: session.isHibernated,
  stopReason: session.stopReason,
  createdAt: isoOf(session.createdAt),
  expiresAt: isoOf(session.expiresAt),
  idleAt: isoOf(session.idleAt),
  pausedAt: isoOf(session.pausedAt),
  destroyedAt: isoOf(session.destroyedAt),
});
