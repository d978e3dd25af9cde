import { setTimeout as delay } from "node:timers/promises";
import { Command, Option } from "commander";
import { AppError, SESSION_STATUSES } from "@berth/contract";
import { modelUsageOf } from "@berth/server/store/model-usage.ts";
import { findSession, moveSession, type SessionRow } from "@berth/server/store/sessions/sessions.ts";
import { isStep, statusOf } from "@berth/server/sessions/states.ts";
import type { Db } from "@berth/server/store/schema.ts";
import { count } from "../arguments.ts";
import { withStore, type Context } from "../context.ts";
import { clean, facts, isoOf, orDash, relative, show, state, table } from "../terminal/output.ts";

interface Options {
  json?: boolean;
  partner?: string;
  status?: string;
  limit: number;
}

// A running server looks for steps that nobody works on every ten seconds.
const DESTROY_PATIENCE_MS = 30_000;

export const command = build();

function build(): Command {
  const group = new Command();
  group.addCommand(
    new Command("list")
      .description("live sessions, newest first")
      .option("--partner <id>", "only this partner's")
      .addOption(new Option("--status <status>", "only these; destroyed ones are shown only when asked for").choices(SESSION_STATUSES))
      .option("--limit <n>", "at most this many", count, 50)
      .option("--json", "print JSON")
      .action(list),
  );
  group.addCommand(
    new Command("show")
      .description("everything known about a session")
      .argument("<id>", "id of the session or of its sandbox")
      .option("--json", "print JSON")
      .action(showOne),
  );
  group.addCommand(
    new Command("destroy")
      .description("destroy a session, its sandbox and its files")
      .argument("<id>")
      .option("--json", "print JSON")
      .action(destroy),
  );
  return group;
}

async function list(options: Options): Promise<void> {
  await withStore(async ({ store }) => {
    const rows = await readRows(store.db, options);
    show(options, rows.map(sessionJson), () =>
      table(
        rows,
        [
          { name: "session", value: (row) => row.id },
          { name: "partner", value: (row) => row.partner_id ?? "" },
          { name: "user", value: (row) => clean(row.external_user_id ?? "", 24) },
          { name: "status", value: stateText },
          { name: "template", value: (row) => row.template },
          { name: "created", value: (row) => relative(row.created_at) },
          { name: "times out", value: (row) => relative(row.expires_at) },
        ],
        "No sessions.",
      ),
    );
  });
}

function readRows(db: Db, { partner, status, limit }: Options): Promise<SessionRow[]> {
  let query = db
    .selectFrom("sessions")
    .selectAll()
    .where("partner_id", "is not", null)
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .limit(limit);
  if (partner !== undefined) query = query.where("partner_id", "=", partner);
  if (status === "destroyed") query = query.where("state", "=", "destroyed");
  else query = query.where("state", "!=", "destroyed");
  if (status === "running") query = query.where("paused_at", "is", null);
  if (status === "paused") query = query.where("paused_at", "is not", null);
  return query.execute();
}

async function showOne(id: string, options: Options): Promise<void> {
  await withStore(async ({ store }) => {
    const row = await find(store.db, id);
    const modelTokens = await modelUsageOf(store.db, row.id);
    show(options, { ...sessionJson(row), modelTokens }, () =>
      facts([
        ["session", row.id],
        ["sandbox", row.sandbox_id],
        ["partner", row.partner_id ?? ""],
        ["user", clean(row.external_user_id ?? "", 200)],
        ["status", stateText(row)],
        ["template", row.template],
        ["driver", `${row.driver}${row.host === null ? "" : ` on ${row.host}`}`],
        ["created", `${isoOf(row.created_at)} (${relative(row.created_at)})`],
        ["times out", row.expires_at === null ? orDash(null) : `${isoOf(row.expires_at)} (${relative(row.expires_at)})`],
        ["paused", relative(row.paused_at)],
        ["destroyed", relative(row.destroyed_at)],
        ["last stopped by", orDash(row.stop_reason)],
        ["model tokens", `${modelTokens.input} in, ${modelTokens.output} out`],
        ["metadata", clean(row.metadata, 500)],
      ]),
    );
  });
}

// The server that has the sandbox does the work: the row is put into the step `destroying` without anybody at work on it,
// which is what a server finds and finishes, now or when it is started.
async function destroy(id: string, options: Options): Promise<void> {
  await withStore(async (context) => {
    const row = await markForDestruction(context, id);
    const ended = row.state === "destroyed" ? row : await waitUntilDestroyed(context, row.id);
    const text =
      ended.state === "destroyed"
        ? `The session ${row.id} is destroyed.\n`
        : `The session ${row.id} is marked. No server has taken it up yet; the next one to run finishes it.\n`;
    show(options, { sessionId: row.id, status: ended.state === "destroyed" ? "destroyed" : "destroying" }, () => text);
  });
}

async function markForDestruction({ store, change, clock }: Context, id: string): Promise<SessionRow> {
  for (;;) {
    const row = await find(store.db, id);
    if (row.state === "destroyed" || row.state === "destroying") return row;
    const marked = await change(async (tx, note) => {
      const changes = { lease_owner: "cli", lease_until: 0, stop_reason: "api", updated_at: clock.now() };
      const moved = await moveSession(tx, row, "destroying", changes);
      if (moved) await note("session.destroy", row.partner_id ?? "", row.id);
      return moved;
    });
    if (marked) return marked;
  }
}

async function waitUntilDestroyed({ store, clock }: Context, id: string): Promise<SessionRow> {
  const untilMs = clock.now() + DESTROY_PATIENCE_MS;
  for (;;) {
    const row = await find(store.db, id);
    if (row.state === "destroyed" || clock.now() > untilMs) return row;
    await delay(100);
  }
}

async function find(db: Db, id: string): Promise<SessionRow> {
  const row =
    (await findSession(db, id)) ??
    (await db
      .selectFrom("sessions")
      .selectAll()
      .where("sandbox_id", "=", id as SessionRow["sandbox_id"])
      .executeTakeFirst());
  if (row && row.partner_id !== null) return row;
  throw new AppError("session_not_found", { message: `There is no session ${id}` });
}

function stateText(row: SessionRow): string {
  const status = statusOf(row) ?? row.state;
  return isStep(row.state) ? `${state(status)} (${row.state})` : state(status);
}

const sessionJson = (row: SessionRow) => ({
  sessionId: row.id,
  sandboxId: row.sandbox_id,
  partnerId: row.partner_id,
  externalUserId: row.external_user_id,
  status: statusOf(row),
  state: row.state,
  template: row.template,
  driver: row.driver,
  host: row.host,
  metadata: JSON.parse(row.metadata) as Record<string, string>,
  timeoutMs: row.timeout_ms,
  hibernated: row.hibernated === 1,
  stopReason: row.stop_reason,
  createdAt: isoOf(row.created_at),
  expiresAt: isoOf(row.expires_at),
  pausedAt: isoOf(row.paused_at),
  destroyedAt: isoOf(row.destroyed_at),
});
