import { expect, test } from "vitest";
import { onBothEngines } from "../../../tests/support/databases/stores.ts";
import { createTestClock } from "../../testing/test-clock.ts";
import { eventsAfter } from "../../store/events.ts";
import type { Store } from "../../store/open.ts";
import { insertPartner } from "../../store/partners/partners.ts";
import { findSession } from "../../store/sessions/read.ts";
import type { Session } from "../../store/sessions/session.ts";
import { insertSessionRow, sessionRow } from "../../store/testing/session-row.ts";
import { createTransitions } from "./transitions.ts";

onBothEngines("transitions", (databases) => {
  const NOW_MS = Date.UTC(2030, 0, 1);

  async function openWithSession(store: Store) {
    await insertPartner(store.db, { id: "acme", createdAt: NOW_MS });
    const { id } = await insertSessionRow(store.db, sessionRow(NOW_MS, { generation: 5 }));
    const announced: Session[] = [];
    const transitions = createTransitions({
      store,
      owner: "server-1",
      leaseMs: 60_000,
      clock: createTestClock(NOW_MS),
      onChange: (session) => announced.push(session),
    });
    const read = async () => (await findSession(store.db, id))!;
    const events = async () => (await eventsAfter(store.db, "acme", 0, 10)).map(({ type }) => type);
    return { transitions, announced, read, events };
  }

  test("entering and leaving a step writes state, lease, generation, reason and event", async () => {
    await using store = await (await databases.create()).open();
    const { transitions, announced, read, events } = await openWithSession(store);
    await transitions.apply(await read(), "timeout");
    const begun = await read();
    expect(begun).toMatchObject({
      state: "pausing",
      generation: 6,
      stopReason: "timeout",
      lease: { owner: "server-1", untilMs: NOW_MS + 60_000 },
    });
    expect(await events()).toEqual([]);
    await transitions.apply(begun, "done", { changes: { pausedAtMs: NOW_MS, expiresAtMs: null } });
    const done = await read();
    expect(done).toMatchObject({ state: "paused", generation: 7, pausedAtMs: NOW_MS });
    expect(done).not.toHaveProperty("lease");
    expect(await events()).toEqual(["session.paused"]);
    expect(announced).toEqual([begun, done]);
  });

  test("a stale result changes nothing and announces nothing", async () => {
    await using store = await (await databases.create()).open();
    const { transitions, announced, read, events } = await openWithSession(store);
    await transitions.apply(await read(), "pause");
    const overtaken = await read();
    await transitions.apply(overtaken, "destroy");
    const destroying = await read();
    for (const trigger of ["done", "failed", "abandoned"] as const)
      expect(await transitions.apply(overtaken, trigger, { changes: { pausedAtMs: NOW_MS } })).toBeNull();
    expect(await read()).toEqual(destroying);
    expect(await events()).toEqual([]);
    expect(announced).toEqual([overtaken, destroying]);
  });

  test("of concurrent transitions from one generation, exactly one happens", async () => {
    await using store = await (await databases.create()).open();
    const { transitions, read } = await openWithSession(store);
    const session = await read();
    const results = await Promise.all(Array.from({ length: 10 }, (_, i) => transitions.apply(session, i % 2 ? "pause" : "destroy")));
    expect(results.filter((result) => result !== null)).toHaveLength(1);
    expect(await read()).toMatchObject({ generation: 6 });
  });

  test("if the admission or the record fails, nothing happens", async () => {
    await using store = await (await databases.create()).open();
    const { transitions, announced, read, events } = await openWithSession(store);
    const before = await read();
    const fail = () => Promise.reject(new Error("refused"));
    await expect(transitions.apply(before, "pause", { admit: fail })).rejects.toThrow("refused");
    await expect(transitions.apply(before, "lost", { record: fail, changes: { pausedAtMs: NOW_MS } })).rejects.toThrow("refused");
    expect(await read()).toEqual(before);
    expect(await events()).toEqual([]);
    expect(announced).toEqual([]);
  });

  test("a change keeps state and generation, so a step under way does not become stale", async () => {
    await using store = await (await databases.create()).open();
    const { transitions, read } = await openWithSession(store);
    await transitions.apply(await read(), "pause");
    const pausing = await read();
    await transitions.apply(pausing, "change", { changes: { metadata: { plan: "pro" } } });
    expect(await transitions.apply(pausing, "done", { changes: { pausedAtMs: NOW_MS } })).toMatchObject({
      state: "paused",
      metadataJson: '{"plan":"pro"}',
    });
  });

  test("if two servers find a paused sandbox stopped at once, its time counts once", async () => {
    await using store = await (await databases.create()).open();
    const { transitions, read } = await openWithSession(store);
    const since = { paused_at: NOW_MS - 5000, counted_from: NOW_MS - 5000 };
    await store.db
      .updateTable("sessions")
      .set({ state: "paused", ...since })
      .execute();
    const paused = await read();
    const stop = () => transitions.apply(paused, "stopped", { changes: { isHibernated: true } });
    const results = await Promise.all([stop(), stop()]);
    expect(results.filter((result) => result !== null)).toHaveLength(1);
    expect(await store.db.selectFrom("usage_days").select(["paused_ms", "hibernated_ms"]).execute()).toEqual([
      { paused_ms: 5000, hibernated_ms: 0 },
    ]);
    expect(await read()).toMatchObject({ state: "paused", isHibernated: true, countedFromMs: NOW_MS });
  });

  test("a trigger that the table does not allow throws", async () => {
    await using store = await (await databases.create()).open();
    const { transitions, read } = await openWithSession(store);
    await expect(transitions.apply(await read(), "resume")).rejects.toThrow("resume changes nothing in the state running");
    await expect(transitions.apply(await read(), "hibernate")).rejects.toThrow("hibernate changes nothing in the state running");
  });
});
