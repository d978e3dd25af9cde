import { newId } from "@berth/contract";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { DAY } from "../../clock.ts";
import { onBothEngines } from "../../../tests/support/databases/stores.ts";
import { appendEvent } from "../events.ts";
import { claimKey } from "../idempotency.ts";
import type { Store } from "../open.ts";
import { insertPartner } from "../store.suite.ts";
import { endpointRow } from "../testing/endpoint-row.ts";
import { insertSessionRow, sessionRow } from "../testing/session-row.ts";
import { insertEndpoint } from "../webhooks/endpoints.ts";
import { appendAudit } from "./audit.ts";
import { deletePartnerRows } from "./delete-partner.ts";
import { insertKey } from "./keys.ts";
import { reserveTokens } from "./model-reservations.ts";
import { insertRun } from "../runs/write.ts";
import { insertToken } from "../session-tokens/session-tokens.ts";
import { insertSnapshot } from "../snapshots/write.ts";
import { addUsage, dayOf } from "../usage/days.ts";
import { insertUses, insertVolume } from "../volumes/volumes.ts";
import { writeUserSettings } from "./user-settings.ts";

const nowMs = Date.UTC(2030, 0, 1);

onBothEngines("deleting a partner", (databases) => {
  test("removes its rows from every table but the audit log, and no other partner's", async () => {
    await using store = await (await databases.create()).open();
    for (const partner of ["acme", "other"]) await fill(store, partner);
    const tables = await tablesOfPartners(store);
    const before = await countRows(store, tables, "acme");
    // A table without rows would not be tested.
    expect(Object.values(before)).not.toContain(0);
    let rounds = 1;
    while (!(await deletePartnerRows(store.db, "acme", 2))) rounds++;
    expect(rounds).toBeGreaterThan(tables.length);
    expect(await countRows(store, tables, "acme")).toEqual({ ...Object.fromEntries(tables.map((name) => [name, 0])), audit: 1 });
    expect(await countRows(store, tables, "other")).toEqual(before);
    expect(await store.db.selectFrom("partners").select("id").execute()).toEqual([{ id: "other" }]);
    expect(await store.db.selectFrom("webhook_deliveries").select("endpoint_id").distinct().execute()).toEqual([
      { endpoint_id: "whk_other" },
    ]);
  });

  test("is refused while it has a session", async () => {
    await using store = await (await databases.create()).open();
    await insertPartner(store, "acme");
    await insertSessionRow(store.db, sessionRow(nowMs, { partner_id: "acme", state: "paused" }));
    await expect(deletePartnerRows(store.db, "acme", 100)).rejects.toThrow("still has sessions");
  });
});

async function tablesOfPartners(store: Store): Promise<string[]> {
  const tables = await store.db.introspection.getTables();
  return tables.filter(({ columns }) => columns.some(({ name }) => name === "partner_id")).map(({ name }) => name);
}

async function countRows(store: Store, tables: string[], partnerId: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of tables) {
    const { rows } = await sql<{
      count: number;
    }>`select count(*) as count from ${sql.table(table)} where partner_id = ${partnerId}`.execute(store.db);
    counts[table] = Number(rows[0]!.count);
  }
  return counts;
}

async function fill(store: Store, partnerId: string): Promise<void> {
  const { db } = store;
  await insertPartner(store, partnerId);
  await insertKey(db, {
    id: `key_${partnerId}`,
    partnerId,
    hash: partnerId,
    hint: "",
    name: "",
    scope: "admin",
    createdAt: nowMs,
    lastUsedAt: null,
    expiresAt: null,
    lifetimeMs: null,
    revokedAt: null,
  });
  await insertVolume(db, { id: `vol_${partnerId}`, partnerId, name: "cache", sizeMb: 16, createdAtMs: nowMs });
  for (let n = 0; n < 5; n++) {
    const row = sessionRow(nowMs, { partner_id: partnerId, state: "destroyed", destroyed_at: nowMs });
    const { id: sessionId } = await insertSessionRow(db, row);
    await store.transaction((tx) => appendEvent(tx, { partnerId, sessionId, type: "session.destroyed", at: nowMs, data: { sessionId } }));
    await insertUses(db, [{ volumeId: `vol_${partnerId}`, sessionId, mode: "ro" }]);
    await writeUserSettings(db, { partnerId, externalUserId: "u" }, { settings: "{}", version: 0 }, nowMs);
    await insertRun(db, { id: newId("run", nowMs), partnerId, sessionId, externalUserId: "ada", request: { prompt: "x" }, nowMs });
    const lifetime = { createdAt: nowMs, expiresAt: nowMs + DAY, revokedAt: null };
    await insertToken(db, { id: newId("tok", nowMs), partnerId, sessionId, name: "", scopes: ["exec"], ports: null, ...lifetime });
    const used = { partner_id: partnerId, session_id: sessionId, external_user_id: "ada", template: "default" };
    await addUsage(db, [
      { ...used, day: dayOf(nowMs), running_ms: 1 },
      { ...used, day: dayOf(nowMs) + DAY, running_ms: 1 },
    ]);
    const user = { sessionId, partnerId, externalUserId: "ada", template: "default" };
    const wanted = { input: 1, output: 1, leastOutput: 1, cap: 10 };
    await reserveTokens(store, user, wanted, { nowMs, expiresAtMs: nowMs + DAY });
  }
  const claim = { partnerId, scope: "a", fingerprint: "b", owner: "c" };
  await store.transaction((tx) => claimKey(tx, claim, nowMs, nowMs + 1, nowMs + 2));
  await store.transaction((tx) =>
    appendAudit(tx, { partnerId, actor: "cli", action: "partner.create", target: partnerId, ip: null, requestId: null }, nowMs),
  );
  await insertSnapshot(db, {
    id: newId("snp", nowMs),
    partnerId,
    sessionId: "ses",
    purpose: "keep",
    name: "",
    template: "default",
    site: { driver: "process", host: "here" },
    lease: { owner: "server", untilMs: nowMs },
    nowMs,
  });
  await insertEndpoint(db, endpointRow(`whk_${partnerId}`, partnerId, nowMs));
  await sql`insert into webhook_deliveries (id, endpoint_id, lane, seq, event_id, type, payload, state, attempts, created_at)
    values (${`dlv_${partnerId}`}, ${`whk_${partnerId}`}, 'ses', 1, 'evt', 'session.created', '{}', 'pending', 0, ${nowMs})`.execute(db);
}
