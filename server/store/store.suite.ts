import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { isAppError } from "@berth/contract";
import { silentLog } from "../log.ts";
import type { Database, Databases } from "../../tests/support/databases/stores.ts";
import { isDuplicate } from "./engines/errors.ts";
import { migrate, schemaVersion, SchemaError } from "./migrations/migrate.ts";
import { MIGRATIONS } from "./migrations/index.ts";
import type { Store } from "./open.ts";
import { findSession } from "./sessions/read.ts";

// The guarantees of the store on every engine.
export function storeSuite(databases: Databases): void {
  test("times and counts are numbers", async () => {
    await using store = await (await databases.create()).open();
    await insertPartner(store, "acme", 1_893_456_000_123);
    const row = await store.db.selectFrom("partners").selectAll().executeTakeFirstOrThrow();
    const { count } = await store.db
      .selectFrom("partners")
      .select((e) => e.fn.countAll().as("count"))
      .executeTakeFirstOrThrow();
    expect(row.created_at).toBe(1_893_456_000_123);
    expect(count).toBe(1);
  });

  test("a transaction that throws is rolled back", async () => {
    await using store = await (await databases.create()).open();
    const failing = store.transaction(async (tx) => {
      await insertPartner({ db: tx }, "acme");
      throw new Error("changed my mind");
    });
    await expect(failing).rejects.toThrow("changed my mind");
    expect(await store.db.selectFrom("partners").selectAll().execute()).toEqual([]);
  });

  test("of fifty concurrent guarded updates, exactly one succeeds", async () => {
    await using store = await (await databases.create()).open();
    await insertPartner(store, "acme");
    const results = await Promise.all(
      Array.from({ length: 50 }, () =>
        store.transaction((tx) =>
          tx.updateTable("partners").set({ state: "suspended" }).where("id", "=", "acme").where("state", "=", "active").executeTakeFirst(),
        ),
      ),
    );
    expect(results.filter((result) => result.numUpdatedRows === 1n)).toHaveLength(1);
  });

  test("a duplicate row is distinguished from other failures", async () => {
    await using store = await (await databases.create()).open();
    await insertPartner(store, "acme");
    const error: unknown = await insertPartner(store, "acme").catch((failure: unknown) => failure);
    expect(isDuplicate(error)).toBe(true);
    const other: unknown = await sql`select nonsense from partners`.execute(store.db).catch((failure: unknown) => failure);
    expect(isDuplicate(other)).toBe(false);
    expect(isAppError(other)).toBe(false);
  });

  test("a row with a broken foreign key is refused", async () => {
    await using store = await (await databases.create()).open();
    const orphan = {
      id: "key_1",
      partner_id: "missing",
      hash: "h",
      hint: "h",
      name: "",
      scope: "admin" as const,
      created_at: 1,
      last_used_at: null,
      expires_at: null,
      revoked_at: null,
    };
    await expect(store.db.insertInto("keys").values(orphan).execute()).rejects.toThrow(/foreign key/i);
  });

  test("using the store inside a transaction throws at once instead of deadlocking", async () => {
    await using store = await (await databases.create()).open();
    await expect(store.transaction(async () => store.db.selectFrom("partners").selectAll().execute())).rejects.toThrow(
      "inside a transaction",
    );
    await expect(store.transaction(async () => store.transaction(async () => 1))).rejects.toThrow("inside a transaction");
    await expect(store.ready()).resolves.toBeUndefined();
  });

  test("three servers that start at once on an empty database migrate it once, and lose no update of the same row", async () => {
    const database = await databases.createEmpty();
    await Promise.all([1, 2, 3].map(() => countUpInOwnProcess(database)));
    await using store = await database.open();
    const { rows } = await sql<{ number: number }>`select number from migrations order by number`.execute(store.db);
    expect(rows.map((row) => row.number)).toEqual(MIGRATIONS.map((_, index) => index + 1));
    const { created_at: counted } = await store.db.selectFrom("partners").selectAll().executeTakeFirstOrThrow();
    expect(counted).toBe(3 * 40);
  });

  test("an older schema is migrated and its rows are kept", async () => {
    const database = await databases.createEmpty();
    await using store = await database.open({ migrate: false });
    await migrate(store, silentLog, MIGRATIONS.slice(0, 1));
    await sql`insert into partners (id, name, state, origins, created_at) values ('acme', 'Acme', 'active', '[]', 1)`.execute(store.db);
    await using newer = await database.open();
    expect(await schemaVersion(newer)).toBe(MIGRATIONS.length);
    expect((await newer.db.selectFrom("partners").select("id").execute()).map((row) => row.id)).toEqual(["acme"]);
  });

  test("sessions and keys of version 0.1 are those of today after the upgrade", async () => {
    const database = await databases.createEmpty();
    await using store = await database.open({ migrate: false });
    await migrate(store, silentLog, MIGRATIONS.slice(0, 3));
    await sql`insert into partners (id, name, state, origins, created_at) values ('acme', 'Acme', 'active', '[]', 1)`.execute(store.db);
    await sql`insert into keys (id, partner_id, hash, hint, created_at) values ('key_1', 'acme', 'h', 'h', 1)`.execute(store.db);
    const insert = (id: string, state: string, expiresAt: number | null, pausedAt: number | null, hibernated: number) =>
      sql`insert into sessions (id, sandbox_id, partner_id, external_user_id, state, generation, template, template_hash, driver, host, token,
            metadata, auto_start_agent, timeout_ms, expires_at, warned, paused_at, hibernated, stop_reason, created_at, updated_at)
          values (${`ses_${id}`}, ${`sbx_${id}`}, 'acme', 'ada', ${state}, 3, 'default', 'hash', 'oci', 'host', 'sealed',
            '{"plan":"pro"}', 1, 3600000, ${expiresAt}, 0, ${pausedAt}, ${hibernated}, ${pausedAt && "timeout"}, 1, 2)`.execute(store.db);
    await insert("running", "running", 5000, null, 0);
    await insert("paused", "paused", null, 4000, 0);
    await insert("asleep", "paused", null, 4000, 1);
    await using newer = await database.open();
    const owned = { partnerId: "acme", externalUserId: "ada", metadataJson: '{"plan":"pro"}', generation: 3, idleTimeoutMs: null };
    expect(await findSession(newer.db, "ses_running")).toMatchObject({ ...owned, state: "running", expiresAtMs: 5000 });
    expect(await findSession(newer.db, "ses_paused")).toMatchObject({ ...owned, state: "paused", isHibernated: false });
    expect(await findSession(newer.db, "ses_asleep")).toMatchObject({ ...owned, state: "paused", isHibernated: true });
    // A key without scopes could do everything.
    expect(await newer.db.selectFrom("keys").select(["id", "scope"]).execute()).toEqual([{ id: "key_1", scope: "admin" }]);
  });

  test("a newer schema is refused with an explanation and not changed", async () => {
    const database = await databases.create();
    {
      await using store = await database.open();
      await migrate(store, silentLog, [...MIGRATIONS, { name: "future", up: async () => {} }]);
    }
    await expect(database.open()).rejects.toThrow(SchemaError);
    await expect(database.open()).rejects.toThrow(
      `schema ${MIGRATIONS.length + 1}, but this version of Berth knows only ${MIGRATIONS.length}`,
    );
    await using reader = await database.open({ migrate: false });
    expect(await schemaVersion(reader)).toBe(MIGRATIONS.length + 1);
  });

  test("a migration that fails is rolled back", async () => {
    await using store = await (await databases.create()).open();
    const failing = {
      name: "half",
      async up(tx: Parameters<(typeof MIGRATIONS)[number]["up"]>[0]) {
        await tx.schema.createTable("half").addColumn("id", "text").execute();
        throw new Error("no further");
      },
    };
    await expect(migrate(store, silentLog, [...MIGRATIONS, failing])).rejects.toThrow("no further");
    expect(await schemaVersion(store)).toBe(MIGRATIONS.length);
    await expect(sql`select * from half`.execute(store.db)).rejects.toThrow(/half/);
  });
}

// Reads and then writes the one row that all processes share.
async function countUpInOwnProcess({ url, file }: Database): Promise<void> {
  const program = `
    import { openStore } from ${JSON.stringify(join(import.meta.dirname, "open.ts"))};
    import { silentLog } from ${JSON.stringify(join(import.meta.dirname, "../log.ts"))};
    await using store = await openStore({ ...${JSON.stringify({ url, file })}, log: silentLog });
    const row = ${JSON.stringify(partnerRow("acme", 0))};
    await store.db.insertInto("partners").values(row).onConflict((conflict) => conflict.doNothing()).execute();
    for (let i = 0; i < 40; i++)
      await store.transaction(async (tx) => {
        const row = await tx.selectFrom("partners").selectAll().$if(store.engine === "postgres", (query) => query.forUpdate()).executeTakeFirstOrThrow();
        await tx.updateTable("partners").set({ created_at: row.created_at + 1 }).execute();
      });`;
  await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
}

export async function insertPartner({ db }: Pick<Store, "db">, id: string, createdAt = 1): Promise<void> {
  await db.insertInto("partners").values(partnerRow(id, createdAt)).execute();
}

function partnerRow(id: string, createdAt: number) {
  const limits = { max_sessions: null, max_sessions_per_user: null, rate_per_minute: null, idle_timeout_ms: null };
  return { id, name: id, state: "active" as const, origins: "[]", branding: "{}", created_at: createdAt, ...limits };
}
