import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { isAppError } from "@berth/contract";
import { onBothEngines, type Databases } from "../../tests/support/databases/stores.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../clock.ts";
import { createTestClock, type TestClock } from "../testing/test-clock.ts";
import { silentLog } from "../log.ts";
import type { Store } from "../store/open.ts";
import { createAuthenticator } from "./authenticate.ts";
import { KEY_PATTERN, newKey } from "../api-key-format.ts";
import { getKey, issueKey, listKeys, revokeKey, rotateKey } from "./keys.ts";
import { createPartner, getPartner, listPartners, updatePartner } from "./partners.ts";
import { seedDemo } from "./seed.ts";

const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

onBothEngines(
  "keys",
  (databases) => {
    test("a key is returned once, stored as a hash, and listed by its first and last characters", async () => {
      await using t = await openKeys(databases);
      const issued = await issueKey(t.store.db, t.clock, "acme");
      expect(issued.key).toMatch(KEY_PATTERN);
      const [listed] = await listKeys(t.store.db, t.clock, "acme");
      expect(listed).toMatchObject({
        id: issued.id,
        state: "active",
        lastUsedAt: null,
        hint: `${issued.key.slice(0, 10)}…${issued.key.slice(-4)}`,
      });
      const rows = await t.store.db.selectFrom("keys").selectAll().execute();
      expect(JSON.stringify(rows)).not.toContain(issued.key.slice(6));
    });

    test("a key authenticates its partner, and anything else authenticates no one", async () => {
      await using t = await openKeys(databases);
      const { key, id } = await issueKey(t.store.db, t.clock, "acme");
      expect(await t.authenticator.authenticate(key)).toMatchObject({
        partner: { id: "acme", origins: ["https://acme.example"] },
        keyId: id,
      });
      for (const other of [newKey(), "", "berth_", key.toUpperCase(), `${key} `, "x".repeat(10_000), "\0"])
        expect(await t.authenticator.authenticate(other)).toBeNull();
    });

    test("a rotated key works together with the new one for a day", async () => {
      await using t = await openKeys(databases);
      const first = await issueKey(t.store.db, t.clock, "acme");
      const { issued, old } = await rotateKey(t.store.db, t.clock, first.id);
      expect(old).toMatchObject({ state: "active", expiresAt: t.clock.now() + DAY });
      await t.clock.advance(DAY - 1);
      expect(await t.works(first.key, issued.key)).toEqual([true, true]);
      await t.clock.advance(1);
      expect(await t.works(first.key, issued.key)).toEqual([false, true]);
      expect((await getKey(t.store.db, t.clock, first.id)).state).toBe("expired");
      await expect(rotateKey(t.store.db, t.clock, first.id)).rejects.toThrow("is expired; issue a new one instead");
    });

    test("a key that expires is rotated to one with the same lifetime, however often, unless the rotation names another end", async () => {
      await using t = await openKeys(databases);
      const expiring = await issueKey(t.store.db, t.clock, "acme", { expiresAt: t.clock.now() + 90 * DAY });
      await t.clock.advance(80 * DAY);
      const inNinetyDays = t.clock.now() + 90 * DAY;
      const { issued } = await rotateKey(t.store.db, t.clock, expiring.id);
      expect(issued.expiresAt).toBe(inNinetyDays);
      // The first rotation has shortened the life of the old key, not the lifetime of keys made from it.
      expect((await rotateKey(t.store.db, t.clock, expiring.id)).issued.expiresAt).toBe(inNinetyDays);
      expect((await rotateKey(t.store.db, t.clock, issued.id)).issued.expiresAt).toBe(inNinetyDays);
      const unlimited = await rotateKey(t.store.db, t.clock, issued.id, { expiresAt: null });
      expect(unlimited.issued.expiresAt).toBeNull();
      await rotateKey(t.store.db, t.clock, unlimited.issued.id);
      expect((await rotateKey(t.store.db, t.clock, unlimited.issued.id)).issued.expiresAt).toBeNull();
      expect((await rotateKey(t.store.db, t.clock, issued.id, { expiresAt: t.clock.now() + HOUR })).issued.expiresAt).toBe(
        t.clock.now() + HOUR,
      );
    });

    test("rotation never extends a key, and without overlap it revokes the key at once", async () => {
      await using t = await openKeys(databases);
      const short = await issueKey(t.store.db, t.clock, "acme", { expiresAt: t.clock.now() + HOUR });
      expect((await rotateKey(t.store.db, t.clock, short.id)).old.expiresAt).toBe(t.clock.now() + HOUR);
      const other = await issueKey(t.store.db, t.clock, "acme");
      expect((await rotateKey(t.store.db, t.clock, other.id, { overlapMs: 0 })).old.state).toBe("revoked");
      expect(await t.works(other.key)).toEqual([false]);
    });

    test("a revoked key stops working at once on this server and within five seconds on others", async () => {
      await using t = await openKeys(databases);
      await using elsewhere = createAuthenticator({ store: t.store, clock: t.clock, log: silentLog });
      const { key, id } = await issueKey(t.store.db, t.clock, "acme");
      expect(await t.works(key)).toEqual([true]);
      expect(await elsewhere.authenticate(key)).not.toBeNull();
      await revokeKey(t.store.db, t.clock, id);
      t.authenticator.forget();
      expect(await t.works(key)).toEqual([false]);
      await t.clock.advance(5 * SECOND);
      expect(await elsewhere.authenticate(key)).toBeNull();
      expect(await revokeKey(t.store.db, t.clock, id)).toMatchObject({ state: "revoked", revokedAt: t.clock.now() - 5 * SECOND });
    });

    test("a revoked key stops working even if the clock is set back", async () => {
      await using t = await openKeys(databases);
      const { key, id } = await issueKey(t.store.db, t.clock, "acme");
      expect(await t.works(key)).toEqual([true]);
      await revokeKey(t.store.db, t.clock, id);
      await t.clock.advance(-HOUR);
      expect(await t.works(key)).toEqual([false]);
    });

    test("the keys of a suspended partner do not work until it is active again", async () => {
      await using t = await openKeys(databases);
      const { key } = await issueKey(t.store.db, t.clock, "acme");
      await updatePartner(t.store.db, "acme", { state: "suspended" });
      expect(await t.works(key)).toEqual([false]);
      await updatePartner(t.store.db, "acme", { state: "active" });
      await t.clock.advance(5 * SECOND);
      expect(await t.works(key)).toEqual([true]);
    });

    test("a new key works at once, even if it was tried before it was issued", async () => {
      await using t = await openKeys(databases);
      const key = newKey();
      expect(await t.works(key)).toEqual([false]);
      await issueKey(t.store.db, t.clock, "acme", { key });
      t.authenticator.forget();
      expect(await t.works(key)).toEqual([true]);
    });

    test("a query that started before the cache was emptied does not fill it afterwards", async () => {
      await using t = await openKeys(databases);
      const { key, id } = await issueKey(t.store.db, t.clock, "acme");
      const early = t.authenticator.authenticate(key);
      t.authenticator.forget();
      await early;
      await revokeKey(t.store.db, t.clock, id);
      expect(await t.works(key)).toEqual([false]);
    });

    test("the last use of a key is stored once a minute and on shutdown", async () => {
      await using t = await openKeys(databases);
      const first = await issueKey(t.store.db, t.clock, "acme");
      const lastUse = async () => (await getKey(t.store.db, t.clock, first.id)).lastUsedAt;
      const usedAt = t.clock.now();
      for (let i = 0; i < 100; i++) await t.authenticator.authenticate(first.key);
      expect(await lastUse()).toBeNull();
      await t.clock.advance(MINUTE);
      expect(await lastUse()).toBe(usedAt);
      await t.authenticator.authenticate(first.key);
      await t.authenticator[Symbol.asyncDispose]();
      expect(await lastUse()).toBe(usedAt + MINUTE);
    });

    test("concurrent requests with one key share one query, whether the key is known or not", async () => {
      await using t = await openKeys(databases);
      const { key } = await issueKey(t.store.db, t.clock, "acme");
      let reads = 0;
      const counting: Store = {
        ...t.store,
        get db() {
          reads++;
          return t.store.db;
        },
      };
      await using authenticator = createAuthenticator({ store: counting, clock: t.clock, log: silentLog });
      for (const presented of [key, newKey(), "malformed"]) {
        reads = 0;
        await Promise.all(Array.from({ length: 50 }, async () => authenticator.authenticate(presented)));
        await authenticator.authenticate(presented);
        expect(reads).toBe(1);
      }
    });

    test("partners are created, listed and changed, and a second one with the same id is refused", async () => {
      await using t = await openKeys(databases);
      await createPartner(t.store.db, t.clock, "beta", { name: "Beta Ltd", maxSessions: 3 });
      expect((await listPartners(t.store.db)).map((partner) => partner.id)).toEqual(["acme", "beta"]);
      expect(await updatePartner(t.store.db, "beta", { maxSessions: null, ratePerMinute: 60 })).toMatchObject({
        name: "Beta Ltd",
        maxSessions: null,
        ratePerMinute: 60,
      });
      await expect(createPartner(t.store.db, t.clock, "beta")).rejects.toThrow("There is a partner beta already");
      const missing: unknown = await getPartner(t.store.db, "missing").catch((error: unknown) => error);
      expect(isAppError(missing, "not_found")).toBe(true);
    });

    test("the first start creates the demo partner with one key, even if several servers start at once", async () => {
      const database = await databases.create();
      await using store = await database.open();
      const clock = createTestClock();
      const config = { apiKey: null, dataDir: await temporaryFolder() };
      const seeded = (await Promise.all([1, 2, 3].map(() => seedDemo({ store, clock, config })))).filter((result) => result !== null);
      expect(seeded).toHaveLength(1);
      const file = join(config.dataDir, "demo-api-key");
      expect(await readFile(file, "utf8")).toBe(`${seeded[0]?.key}\n`);
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      expect(await listKeys(store.db, clock)).toHaveLength(1);
    });

    test("servers that start at once with the same BERTH_API_KEY store it once", async () => {
      const database = await databases.create();
      await using store = await database.open();
      const clock = createTestClock();
      const config = { apiKey: newKey(), dataDir: await temporaryFolder() };
      const seeded = await Promise.all([1, 2, 3, 4].map(() => seedDemo({ store, clock, config })));
      expect(seeded.filter((result) => result !== null)).toHaveLength(1);
      expect(await listKeys(store.db, clock)).toHaveLength(1);
    });

    test("BERTH_API_KEY becomes a key of the demo partner at any start, unless it was revoked", async () => {
      await using t = await openKeys(databases);
      const config = { apiKey: newKey(), dataDir: await temporaryFolder() };
      expect(await seedDemo({ ...t, config })).toMatchObject({ partnerId: "demo", key: config.apiKey });
      expect(await t.works(config.apiKey)).toEqual([true]);
      expect(await seedDemo({ ...t, config })).toBeNull();
      const [key] = await listKeys(t.store.db, t.clock, "demo");
      await revokeKey(t.store.db, t.clock, key!.id);
      expect(await seedDemo({ ...t, config })).toBeNull();
      t.authenticator.forget();
      expect(await t.works(config.apiKey)).toEqual([false]);
    });
  },
  { sqlite: testSqlite, postgres: testPostgres },
);

// On PostgreSQL, a revocation by another server may take five seconds.
function testSqlite(databases: Databases): void {
  test("a revocation by another process on the same machine applies at once", async () => {
    const database = await databases.create();
    await using store = await database.open();
    await using other = await database.open();
    const clock = createTestClock();
    await using authenticator = createAuthenticator({ store, clock, log: silentLog });
    await createPartner(store.db, clock, "acme");
    const { key, id } = await issueKey(store.db, clock, "acme");
    expect(await authenticator.authenticate(key)).not.toBeNull();
    await revokeKey(other.db, clock, id);
    await clock.advance(20);
    expect(await authenticator.authenticate(key)).toBeNull();
  });
}

// SQLite has no server that can stop.
function testPostgres(databases: Databases): void {
  test("while the database is down, authentication fails as unavailable, not as unauthorized, and recovers with it", async () => {
    await using t = await openKeys(databases);
    const { key } = await issueKey(t.store.db, t.clock, "acme");
    expect(await t.works(key)).toEqual([true]);
    await databases.postgres!.stop();
    expect(await t.works(key)).toEqual([true]);
    await t.clock.advance(5 * SECOND);
    for (const presented of [key, newKey()]) {
      const failure: unknown = await Promise.resolve(t.authenticator.authenticate(presented)).catch((error: unknown) => error);
      expect(isAppError(failure, "store_unavailable")).toBe(true);
    }
    await t.authenticator.flush();
    await databases.postgres!.start();
    expect(await t.works(key, newKey())).toEqual([true, false]);
    await t.authenticator.flush();
    expect((await listKeys(t.store.db, t.clock, "acme"))[0]?.lastUsedAt).toBe(t.clock.now());
  });
}

async function openKeys(databases: Databases) {
  const store = await (await databases.create()).open();
  const clock: TestClock = createTestClock();
  const authenticator = createAuthenticator({ store, clock, log: silentLog });
  await createPartner(store.db, clock, "acme", { origins: ["https://acme.example"] });
  return {
    store,
    clock,
    authenticator,
    works: async (...keys: string[]) =>
      (await Promise.all(keys.map(async (key) => authenticator.authenticate(key)))).map((result) => result !== null),
    async [Symbol.asyncDispose]() {
      await authenticator[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "berth-keys-"));
  folders.push(folder);
  return folder;
}
