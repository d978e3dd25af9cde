import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { onBothEngines } from "../../../../tests/support/databases/stores.ts";
import type { Store } from "../../open.ts";
import { insertPartner } from "../../store.suite.ts";
import { insertSessionRow, LARGE_METADATA, sessionRow } from "../../testing/session-row.ts";
import { listSessions, type ListFilter, type SessionPage } from "./list.ts";
import type { SessionRow } from "../parse-session.ts";
import { SESSION_STATES } from "../session.ts";
import { parseView } from "./view.ts";

const nowMs = Date.UTC(2030, 0, 1);

onBothEngines("the list of sessions", (databases) => {
  let store: Store;
  beforeAll(async () => {
    store = await (await databases.create()).open();
    for (const partner of ["acme", "globex"]) await insertPartner(store, partner);
  });
  afterAll(() => store[Symbol.asyncDispose]());
  beforeEach(async () => {
    await store.db.deleteFrom("sessions").execute();
  });

  test("filters by the status that each state is shown as", async () => {
    for (const state of SESSION_STATES) for (const pausedAt of [null, nowMs]) await addSession(store, { state, paused_at: pausedAt });
    const rows = await store.db.selectFrom("sessions").selectAll().execute();
    for (const status of ["running", "paused", "destroyed"] as const) {
      const expected = rows.filter((row) => parseView(row)?.status === status).map(({ id }) => id);
      expect((await ids(store, { status })).sort()).toEqual(expected.sort());
    }
    const visible = rows.filter((row) => parseView(row) !== null).map(({ id }) => id);
    expect((await ids(store, {})).sort()).toEqual(visible.sort());
  });

  test("pages neither repeat nor skip a session while sessions are created and changed, even within one millisecond", async () => {
    const made: string[] = [];
    for (let i = 0; i < 25; i++) made.push(await addSession(store, { created_at: nowMs + Math.floor(i / 5) }));
    const seen: string[] = [];
    for await (const { sessions } of pages(store, { limit: 4 })) {
      seen.push(...sessions.map(({ id }) => id));
      await addSession(store, { created_at: nowMs + 1000 });
      await store.db.updateTable("sessions").set({ state: "destroyed", destroyed_at: nowMs }).where("id", "=", sessions[0]!.id).execute();
    }
    expect(seen.toSorted()).toEqual(made.toSorted());
    expect(new Set(seen).size).toBe(25);
  });

  test("filters by user and metadata, and continues where few sessions match", async () => {
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
    expect(await listSessions(store.db, "globex", { limit: 10 })).toEqual({ sessions: [], next: null, metadataBytes: 0 });
  });

  test("filters by several statuses, template and time, and begins with the oldest if asked", async () => {
    const made: string[] = [];
    for (let i = 0; i < 9; i++)
      made.push(
        await addSession(store, {
          created_at: nowMs + Math.floor(i / 3),
          template: i % 2 ? "python" : "default",
          ...(i === 8 && { state: "destroyed", destroyed_at: nowMs }),
          ...(i === 7 && { state: "paused", paused_at: nowMs }),
        }),
      );
    const inOrder = made
      .map((id, i) => ({ id, createdAt: Math.floor(i / 3) }))
      .toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
    const oldestFirst = inOrder.map(({ id }) => id);
    const seen: string[] = [];
    for await (const { sessions } of pages(store, { order: "asc", limit: 2 })) seen.push(...sessions.map(({ id }) => id));
    expect(seen).toEqual(oldestFirst);
    expect(await ids(store, { order: "desc" })).toEqual(oldestFirst.toReversed());
    const alive = new Set(made.slice(0, 8));
    expect(await ids(store, { status: ["running", "paused"], order: "asc" })).toEqual(oldestFirst.filter((id) => alive.has(id)));
    expect((await ids(store, { createdFromMs: nowMs + 1 })).toSorted()).toEqual(made.slice(3).toSorted());
    expect((await ids(store, { template: "python", status: ["paused"] })).toSorted()).toEqual([made[7]]);
    expect(await ids(store, { template: "absent" })).toEqual([]);
  });

  test("a page of large sessions ends early, with and without a filter", async () => {
    const made: string[] = [];
    for (let i = 0; i < 60; i++) made.unshift(await addSession(store, { created_at: nowMs + i, metadata: LARGE_METADATA }));
    for (const metadata of [undefined, { "key-0": "x".repeat(512) }]) {
      const seen: string[] = [];
      let count = 0;
      for await (const { sessions } of pages(store, { limit: 100, ...(metadata && { metadata }) })) {
        expect(sessions.reduce((sum, { metadataJson }) => sum + metadataJson.length, 0)).toBeLessThan(1024 * 1024 + LARGE_METADATA.length);
        seen.push(...sessions.map(({ id }) => id));
        count++;
      }
      expect(seen).toEqual(made);
      expect(count).toBeGreaterThan(1);
    }
  });

  test("a large page is read in slices, a small one at once", async () => {
    const countSlices = async (metadata: string): Promise<number> => {
      await store.db.deleteFrom("sessions").execute();
      for (let i = 0; i < 25; i++) await addSession(store, { created_at: nowMs + i, metadata });
      let slices = 1;
      const page = await listSessions(store.db, "acme", { limit: 100 }, async () => void slices++);
      expect(page.sessions).toHaveLength(25);
      return slices;
    };
    expect(await countSlices("{}")).toBe(1);
    expect(await countSlices(JSON.stringify({ key: "x".repeat(25_000) }))).toBe(2);
  });

  test("a filter that matches few of many small sessions reads them in slices", async () => {
    await store.transaction(async (tx) => {
      for (let i = 0; i < 250; i++) await insertSessionRow(tx, sessionRow(nowMs + i));
    });
    let slices = 1;
    const page = await listSessions(store.db, "acme", { limit: 100, metadata: { absent: "x" } }, async () => void slices++);
    expect(page).toMatchObject({ sessions: [], next: null });
    expect(slices).toBe(3);
  });

  test("a filter that matches nothing does not scan everything for one page", async () => {
    const made: string[] = [];
    for (let i = 0; i < 60; i++) made.unshift(await addSession(store, { created_at: nowMs + i, metadata: LARGE_METADATA }));
    const none = await listSessions(store.db, "acme", { limit: 100, metadata: { absent: "x" } });
    expect(none.sessions).toEqual([]);
    const scanned = made.indexOf(none.next?.id ?? "") + 1;
    expect(scanned).toBeGreaterThan(0);
    expect(scanned).toBeLessThan(made.length);
  });
});

async function* pages(store: Store, filter: ListFilter): AsyncGenerator<SessionPage> {
  for (let after = filter.after ?? null, isFirst = true; isFirst || after !== null; isFirst = false) {
    const page = await listSessions(store.db, "acme", { ...filter, ...(after && { after }) });
    yield page;
    after = page.next;
  }
}

const ids = async (store: Store, filter: Partial<ListFilter>): Promise<string[]> =>
  (await listSessions(store.db, "acme", { limit: 100, ...filter })).sessions.map(({ id }) => id);

async function addSession(store: Store, overrides: Partial<SessionRow>): Promise<string> {
  const destroyed_at = overrides.state === "destroyed" ? nowMs : null;
  const { id } = await insertSessionRow(store.db, sessionRow(nowMs, { destroyed_at, ...overrides }));
  return id;
}
