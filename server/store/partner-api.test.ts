import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { newId } from "@berth/contract";
import { startPostgres, type TestPostgres } from "../../tests/support/databases/postgres.ts";
import { systemClock } from "../clock.ts";
import { createPartner } from "../keys/partners.ts";
import { silentLog } from "../log.ts";
import { appendEvent, eventPage, eventsAfter, lastEventSeq } from "./events.ts";
import { claimKey, releaseKey, releaseKeysOf, storeAnswer } from "./idempotency.ts";
import { openStore, type Engine, type Store } from "./open.ts";
import { reserveTokens } from "./rate-buckets.ts";
import { listSessions, type ListFilter } from "./sessions/list.ts";
import type { SessionRow } from "./sessions/parse-session.ts";
import { runningAmong } from "./sessions/read.ts";
import { SESSION_STATES } from "./sessions/session.ts";
import { parseView } from "./sessions/view.ts";
import { insertSessionRow, sessionRow } from "./testing/session-row.ts";

let postgres: TestPostgres;
let folder: string;
beforeAll(async () => {
  postgres = await startPostgres();
  folder = await mkdtemp(join(tmpdir(), "berth-store-"));
});
afterAll(async () => {
  await postgres[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const nowMs = Date.UTC(2030, 0, 1);

// As large as a session's metadata may be.
const LARGE = JSON.stringify(
  Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`key-${i}`, i === 0 ? "x".repeat(512) : "\u0001".repeat(512)])),
);

describe.each<Engine>(["sqlite", "postgres"])("on %s", (engine) => {
  let store: Store;
  let address: { url?: string; file: string; log: typeof silentLog };
  beforeAll(async () => {
    address = { ...(engine === "postgres" && { url: await postgres.createDatabase() }), file: join(folder, "berth.db"), log: silentLog };
    store = await openStore(address);
    await createPartner(store.db, systemClock, "acme");
    await createPartner(store.db, systemClock, "globex");
  });
  afterAll(() => store[Symbol.asyncDispose]());

  it("knows which of many sandboxes have programs that may run", async () => {
    await store.db.deleteFrom("sessions").execute();
    for (const state of SESSION_STATES) await addSession(store, { state });
    const rows = await store.db.selectFrom("sessions").selectAll().execute();
    const sandboxIds = [...Array.from({ length: 1200 }, () => newId("sbx", 1)), ...rows.map(({ sandbox_id }) => sandbox_id)];
    const found = await runningAmong(store.db, sandboxIds);
    const states = rows.filter(({ sandbox_id }) => found.has(sandbox_id)).map(({ state }) => state);
    expect(states.sort()).toEqual(["creating", "pausing", "resuming", "running", "thawing"]);
    expect(found.size).toBe(5);
    expect(await runningAmong(store.db, [])).toEqual(new Set());
  });

  describe("the list", () => {
    beforeEach(async () => {
      await store.db.deleteFrom("sessions").execute();
    });

    it("shows a session in every state exactly where its status says", async () => {
      for (const state of SESSION_STATES) for (const pausedAt of [null, nowMs]) await addSession(store, { state, paused_at: pausedAt });
      const rows = await store.db.selectFrom("sessions").selectAll().execute();
      for (const status of ["running", "paused", "destroyed"] as const) {
        const expected = rows.filter((row) => parseView(row)?.status === status).map(({ id }) => id);
        expect((await ids(store, { status })).sort()).toEqual(expected.sort());
      }
      expect((await ids(store, {})).sort()).toEqual(
        rows
          .filter((row) => parseView(row) !== null)
          .map(({ id }) => id)
          .sort(),
      );
    });

    it("neither repeats nor skips while sessions come and change, even when many have the same time", async () => {
      const made: string[] = [];
      for (let i = 0; i < 25; i++) made.push(await addSession(store, { created_at: nowMs + Math.floor(i / 5) }));
      const seen: string[] = [];
      for (let after: ListFilter["after"] | null = undefined; after !== null;) {
        const { sessions, next }: Awaited<ReturnType<typeof listSessions>> = await listSessions(store.db, "acme", {
          limit: 4,
          ...(after && { after }),
        });
        seen.push(...sessions.map(({ id }) => id));
        after = next;
        await addSession(store, { created_at: nowMs + 1000 });
        await store.db.updateTable("sessions").set({ state: "destroyed", destroyed_at: nowMs }).where("id", "=", sessions[0]!.id).execute();
      }
      expect(seen.toSorted()).toEqual(made.toSorted());
      expect(new Set(seen).size).toBe(25);
    });

    it("filters by user and metadata, and pages on where few match", async () => {
      const wanted: string[] = [];
      for (let i = 0; i < 30; i++) {
        const id = await addSession(store, {
          created_at: nowMs + i,
          external_user_id: i % 2 ? "ann" : "bob",
          metadata: JSON.stringify({ plan: i % 10 === 3 ? "pro" : "free" }),
        });
        if (i % 10 === 3) wanted.unshift(id);
      }
      expect(await ids(store, { externalUserId: "ann", metadata: { plan: "pro" } })).toEqual(wanted);
      expect(await ids(store, { externalUserId: "bob", metadata: { plan: "pro" } })).toEqual([]);
      expect(await ids(store, { metadata: { plan: "pro", other: "x" } })).toEqual([]);
      const first = await listSessions(store.db, "acme", { metadata: { plan: "pro" }, limit: 2 });
      const second = await listSessions(store.db, "acme", { metadata: { plan: "pro" }, limit: 2, after: first.next! });
      expect([...first.sessions, ...second.sessions].map(({ id }) => id)).toEqual(wanted);
      expect(await listSessions(store.db, "globex", { limit: 10 })).toEqual({ sessions: [], next: null });
    });

    it("ends a page early when its sessions carry much, also when it only looks for a few of them", async () => {
      const made: string[] = [];
      for (let i = 0; i < 60; i++) made.unshift(await addSession(store, { created_at: nowMs + i, metadata: LARGE }));
      for (const metadata of [undefined, { "key-0": "x".repeat(512) }]) {
        const seen: string[] = [];
        let pages = 0;
        for (let after: ListFilter["after"] | null = undefined; after !== null; pages++) {
          const { sessions, next }: Awaited<ReturnType<typeof listSessions>> = await listSessions(store.db, "acme", {
            limit: 100,
            ...(metadata && { metadata }),
            ...(after && { after }),
          });
          expect(sessions.reduce((sum, { metadataJson }) => sum + metadataJson.length, 0)).toBeLessThan(1024 * 1024 + LARGE.length);
          seen.push(...sessions.map(({ id }) => id));
          after = next;
        }
        expect(seen).toEqual(made);
        expect(pages).toBeGreaterThan(1);
      }
      // Nothing matches, and yet not everything is looked at before there is an answer.
      const none = await listSessions(store.db, "acme", { limit: 100, metadata: { absent: "x" } });
      expect(none.sessions).toEqual([]);
      const lookedAt = made.indexOf(none.next?.id ?? "") + 1;
      expect(lookedAt).toBeGreaterThan(0);
      expect(lookedAt).toBeLessThan(made.length);
    });
  });

  describe("events", () => {
    it("a page of large ones ends early, and the next goes on", async () => {
      const start = await lastEventSeq(store.db, "globex");
      const event = { partnerId: "globex", sessionId: "ses_large", type: "session.paused" as const, at: nowMs };
      for (let n = 0; n < 60; n++) await appendEvent(store.db, { ...event, data: { n, metadata: LARGE } });
      const seen: unknown[] = [];
      let pages = 0;
      for (let seq: number | undefined = start; seq !== undefined; pages++) {
        const page: Awaited<ReturnType<typeof eventPage>> = await eventPage(store.db, "globex", seq, 100);
        expect(JSON.stringify(page).length).toBeLessThan(1.2 * (1024 * 1024 + 2 * LARGE.length));
        seen.push(...page.map(({ data }) => data.n));
        seq = page.at(-1)?.seq;
      }
      expect(seen).toEqual(Array.from({ length: 60 }, (_, n) => n));
      expect(pages).toBeGreaterThan(2);
    });

    it("a reader that goes on from the last it saw misses none of many writers'", async () => {
      const writers = Array.from({ length: 100 }, (_, n) => append(store, n));
      const seen: number[] = [];
      let seq = 0;
      let writing = true;
      const done = Promise.all(writers).finally(() => (writing = false));
      for (let idle = 0; idle < 2;) {
        const events = await eventsAfter(store.db, "acme", seq, 7);
        seen.push(...events.map(({ data }) => data.n as number));
        seq = events.at(-1)?.seq ?? seq;
        if (!writing && events.length === 0) idle++;
        await new Promise((resolve) => setImmediate(resolve));
      }
      await done;
      expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, n) => n));
      expect(await lastEventSeq(store.db, "acme")).toBe(seq);
    });
  });

  it("an idempotency key is claimed by one of many, kept over a restart, and freed by a failure", async () => {
    const claim = (owner: string, fingerprint = "f") => ({ partnerId: "acme", scope: "s", fingerprint, owner });
    const claims = await Promise.all(
      Array.from({ length: 16 }, (_, i) => claimKey(store.db, claim(`o${i}`), nowMs, nowMs + 1000, nowMs + 9000)),
    );
    const winner = claims.findIndex(({ is }) => is === "mine");
    expect(claims.map(({ is }) => is).sort()).toEqual([...Array<string>(15).fill("in_flight"), "mine"]);
    await releaseKey(store.db, claim(`o${winner}`));
    expect(await claimKey(store.db, claim("a"), nowMs, nowMs + 1000, nowMs + 9000)).toEqual({ is: "mine" });
    // The lease of `a` runs out; `b` takes over, and what `a` brings then does not count.
    expect(await claimKey(store.db, claim("b"), nowMs + 1001, nowMs + 2000, nowMs + 9000)).toEqual({ is: "mine" });
    expect(await storeAnswer(store.db, claim("a"), { status: 201, body: "a" })).toBe(false);
    expect(await storeAnswer(store.db, claim("b"), { status: 201, body: "b" })).toBe(true);
    await using reopened = await openStore(engine === "postgres" ? address : { ...address, file: join(folder, "berth.db") });
    expect(await claimKey(reopened.db, claim("c"), nowMs + 3000, nowMs + 4000, nowMs + 9000)).toEqual({
      is: "done",
      status: 201,
      body: "b",
    });
    expect(await claimKey(reopened.db, claim("c", "other"), nowMs + 3000, nowMs + 4000, nowMs + 9000)).toEqual({ is: "mismatch" });
    expect(await claimKey(reopened.db, claim("c", "other"), nowMs + 9000, nowMs + 9500, nowMs + 20_000)).toEqual({ is: "mine" });
  });

  it("a server that starts frees the keys its predecessor was at, and no others", async () => {
    const take = async (scope: string, owner: string) =>
      (await claimKey(store.db, { partnerId: "acme", scope, fingerprint: "f", owner }, nowMs, nowMs + 1000, nowMs + 9000)).is;
    const [answered, unanswered, others] = ["answered", "unanswered", "others"];
    for (const scope of [answered, unanswered]) await take(scope, "here/1");
    await take(others, "here-too/1");
    await storeAnswer(store.db, { partnerId: "acme", scope: answered, fingerprint: "f", owner: "here/1" }, { status: 201, body: "" });
    await releaseKeysOf(store.db, "here");
    expect([await take(answered, "here/2"), await take(unanswered, "here/2"), await take(others, "here/2")]).toEqual([
      "done",
      "mine",
      "in_flight",
    ]);
  });
});

describe("with several servers on PostgreSQL", () => {
  let store: Store;
  beforeAll(async () => {
    store = await openStore({ url: await postgres.createDatabase(), file: "", log: silentLog });
  });
  afterAll(() => store[Symbol.asyncDispose]());

  it("a writer that has not committed holds back its partner's later events, and nobody else's", async () => {
    const [written, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const seq = await lastEventSeq(store.db, "acme");
    const slow = append(store, 1000, "acme", () => (written.resolve(), gate.promise));
    await written.promise;
    const fast = append(store, 1001);
    await append(store, 1, "globex");
    await expect.poll(async () => (await sql`select from pg_locks where not granted`.execute(store.db)).rows.length).toBe(1);
    expect(await eventsAfter(store.db, "acme", seq, 10)).toEqual([]);
    gate.resolve();
    await Promise.all([slow, fast]);
    expect((await eventsAfter(store.db, "acme", seq, 10)).map(({ data }) => data.n)).toEqual([1000, 1001]);
  });

  it("tokens are handed out once, however many ask", async () => {
    const take = (wanted: number, at: number) => reserveTokens(store.db, "key", wanted, 600, at);
    const first = await Promise.all(Array.from({ length: 20 }, () => take(50, nowMs)));
    expect(first.reduce((sum, { granted }) => sum + granted, 0)).toBe(600);
    expect(await take(50, nowMs + 1000)).toEqual({ granted: 10, left: 0 });
    expect(await take(50, nowMs)).toEqual({ granted: 0, left: 0 });
    expect(await take(50, nowMs + 120_000)).toEqual({ granted: 50, left: 550 });
  });
});

const append = (store: Store, n: number, partnerId = "acme", pause?: () => Promise<void>): Promise<void> =>
  store.transaction(async (tx) => {
    await appendEvent(tx, { partnerId, sessionId: "ses_a", type: "session.paused", at: nowMs, data: { n } });
    await pause?.();
  });

const ids = async (store: Store, query: Partial<ListFilter>): Promise<string[]> =>
  (await listSessions(store.db, "acme", { limit: 100, ...query })).sessions.map(({ id }) => id);

async function addSession(store: Store, overrides: Partial<SessionRow>): Promise<string> {
  const destroyed_at = overrides.state === "destroyed" ? nowMs : null;
  const { id } = await insertSessionRow(store.db, sessionRow(nowMs, { destroyed_at, ...overrides }));
  return id;
}
