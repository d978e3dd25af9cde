import * as fc from "fast-check";
import { expect, test } from "vitest";
import { MAX_ACTIVE_TOKENS, TOKEN_SCOPES, type CreateSessionToken } from "@berth/contract";
import { onBothEngines, type Databases } from "../../tests/support/databases/stores.ts";
import { MINUTE, SECOND } from "../clock.ts";
import { createSecrets } from "../secrets/secrets.ts";
import { purgeSessions } from "../store/sessions/purge.ts";
import { insertSessionRow, sessionRow } from "../store/testing/session-row.ts";
import { createTestClock } from "../testing/test-clock.ts";
import { createPartner, updatePartner } from "./partners.ts";
import { createSessionTokens } from "./session-tokens.ts";

onBothEngines("session tokens", (databases) => {
  test("a token opens its session, with its scopes and ports only, and is not stored", async () => {
    await using t = await openTokens(databases);
    const { token, id } = await t.create({ scopes: ["files", "ports"], ports: [3000] });
    const access = await t.tokens.authenticate(token);
    expect(access).toMatchObject({ partnerId: "acme", credentialId: id, only: { sessionId: t.session.id, sandboxId: t.sandboxId } });
    expect(access!.opens(t.session)).toBe(true);
    expect(access!.opens(t.otherSession)).toBe(false);
    expect(access!.opens({ ...t.session, partnerId: "other" })).toBe(false);
    expect(TOKEN_SCOPES.filter((scope) => access!.allows(scope, 3000))).toEqual(["files", "ports"]);
    expect([access!.allows("ports"), access!.allows("ports", 3001), access!.allows("any"), access!.allows(null)]).toEqual([
      false,
      false,
      true,
      false,
    ]);
    const rows = await t.store.db.selectFrom("session_tokens").selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain(token.slice(-43));
  });

  test("a token with one changed character opens nothing, and costs no query", async () => {
    await using t = await openTokens(databases);
    const { token } = await t.create();
    const signedByAnother = createSessionTokens({ ...t, secrets: createSecrets([Buffer.alloc(32, 1)]) });
    await t.store[Symbol.asyncDispose]();
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.integer({ min: 33, max: 126 }), (at, code) => {
        const changed = token.slice(0, at) + String.fromCharCode(code) + token.slice(at + 1);
        if (changed !== token) expect(t.tokens.authenticate(changed)).toBeNull();
      }),
      { numRuns: 1000 },
    );
    for (const other of ["", "berth_st_", `${token} `, token.slice(0, -1), `${token}A`, "x".repeat(10_000)])
      expect(t.tokens.authenticate(other)).toBeNull();
    expect(signedByAnother.authenticate(token)).toBeNull();
  });

  test("a token ends at its expiry, with the session, while its partner is suspended, and when it is revoked", async () => {
    await using t = await openTokens(databases);
    const short = await t.create({ ttlMs: SECOND });
    const long = await t.create();
    expect(await t.works(short.token, long.token)).toEqual([true, true]);
    await t.clock.advance(SECOND);
    expect(await t.works(short.token, long.token)).toEqual([false, true]);

    await updatePartner(t.store.db, "acme", { state: "suspended" });
    await t.clock.advance(5 * SECOND);
    expect(await t.works(long.token)).toEqual([false]);
    await updatePartner(t.store.db, "acme", { state: "active" });
    await t.clock.advance(5 * SECOND);
    expect(await t.works(long.token)).toEqual([true]);

    const third = await t.create();
    const record = { calls: 0 };
    const count = async () => void record.calls++;
    expect(await t.tokens.revoke(t.session, long.id, count)).toMatchObject({ state: "revoked", revokedAt: t.clock.now() });
    expect(await t.works(long.token, third.token)).toEqual([false, true]);
    await t.tokens.revoke(t.session, long.id, count);
    expect(record.calls).toBe(1);
    await expect(t.tokens.revoke(t.otherSession, third.id, count)).rejects.toThrow("Token not found");

    await t.store.db.updateTable("sessions").set({ state: "destroyed", destroyed_at: t.clock.now() }).execute();
    await t.clock.advance(5 * SECOND);
    expect(await t.works(third.token)).toEqual([false]);
    await purgeSessions(t.store.db, { partnerId: "acme" }, 10);
    expect(await t.tokens.list(t.session.id)).toEqual([]);
  });

  test("a token works on every server, and a revocation on one of them applies to all within 5 seconds", async () => {
    await using t = await openTokens(databases);
    await using elsewhere = await t.database.open();
    const others = createSessionTokens({ ...t, store: elsewhere });
    const { token, id } = await t.create();
    expect(await others.authenticate(token)).toMatchObject({ credentialId: id });
    await t.tokens.revoke(t.session, id, async () => {});
    await t.clock.advance(5 * SECOND);
    expect(await others.authenticate(token)).toBeNull();
  });

  test("a session has a limited number of tokens, and keeps the newest of those that have ended", async () => {
    await using t = await openTokens(databases);
    for (let i = 0; i < MAX_ACTIVE_TOKENS; i++) await t.create();
    await expect(t.create()).rejects.toThrow("The limit of active tokens");
    await expect(t.tokens.create(t.otherSession, REQUEST, async () => {})).resolves.toBeDefined();
    await t.clock.advance(MINUTE);
    const newest = await t.create();
    expect((await t.tokens.list(t.session.id)).filter(({ state }) => state === "expired")).toHaveLength(100);
    await t.clock.advance(MINUTE);
    await t.create();
    await t.create();
    const kept = await t.tokens.list(t.session.id);
    expect(kept.filter(({ state }) => state === "expired")).toHaveLength(100);
    expect(kept.map(({ id }) => id)).toContain(newest.id);
  });
});

const REQUEST: CreateSessionToken = { scopes: ["exec"], ttlMs: MINUTE };

async function openTokens(databases: Databases) {
  const database = await databases.create();
  const store = await database.open();
  const clock = createTestClock();
  const secrets = createSecrets([Buffer.alloc(32, 7)]);
  await createPartner(store.db, clock, "acme");
  const [row, otherRow] = [sessionRow(clock.now()), sessionRow(clock.now())];
  await insertSessionRow(store.db, row);
  await insertSessionRow(store.db, otherRow);
  const session = { id: row.id, partnerId: "acme" };
  const tokens = createSessionTokens({ store, secrets, clock });
  return {
    database,
    store,
    clock,
    secrets,
    session,
    sandboxId: row.sandbox_id,
    otherSession: { id: otherRow.id, partnerId: "acme" },
    tokens,
    create: (request: Partial<CreateSessionToken> = {}) => tokens.create(session, { ...REQUEST, ...request }, async () => {}),
    works: (...texts: string[]) => Promise.all(texts.map(async (text) => (await tokens.authenticate(text)) !== null)),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
