import { newId } from "@berth/contract";
import { expect, test } from "vitest";
import { onBothEngines } from "../../../tests/support/databases/stores.ts";
import { insertPartner } from "../store.suite.ts";
import { insertSessionRow, sessionRow } from "../testing/session-row.ts";
import { purgeSessions } from "../sessions/purge.ts";
import { countUnfinished, findRun, listRuns, pendingRunsOf, sessionsWithPendingRuns } from "./read.ts";
import { clearPending, endRun, insertRun, lockSession, purgeRuns, unfinishedRuns, updateRun } from "./write.ts";

const startMs = Date.UTC(2030, 0, 1);
const site = { driver: "process", host: null };

onBothEngines("runs in the store", (databases) => {
  test("a run is inserted, delivered, changed by newer reports, ended once, listed in pages and purged", async () => {
    await using store = await (await databases.create()).open();
    const { db } = store;
    await insertPartner(store, "acme");
    const { id: sessionId } = await insertSessionRow(db, sessionRow(startMs));
    const insert = (nowMs: number, prompt: string) =>
      insertRun(db, { id: newId("run", nowMs), partnerId: "acme", sessionId, externalUserId: "u", request: { prompt }, nowMs });
    const first = await insert(startMs, "x".repeat(3000));
    const second = await insert(startMs + 1, "two");
    expect(first).toMatchObject({ status: "queued", revision: 0, startedAtMs: null, details: { permissions: "ask" } });
    expect(first.summary.prompt).toHaveLength(2000);
    expect(await store.transaction((tx) => lockSession(tx, store.engine, sessionId))).toMatchObject({ id: sessionId });
    expect(await countUnfinished(db, sessionId)).toBe(2);

    expect(await sessionsWithPendingRuns(db, site)).toEqual([sessionId]);
    expect(await sessionsWithPendingRuns(db, { ...site, host: "elsewhere" })).toEqual([]);
    const [pending] = await pendingRunsOf(db, sessionId);
    expect(pending).toEqual({ id: first.id, pending: { start: { prompt: "x".repeat(3000) } } });
    expect(await clearPending(db, first.id, "interrupt")).toBe(false);
    expect(await clearPending(db, first.id, pending!.pending)).toBe(true);
    expect((await unfinishedRuns(db, sessionId, "undelivered")).map(({ id }) => id)).toEqual([second.id]);

    const change = { ...first, status: "running" as const, revision: 2, startedAtMs: startMs + 5 };
    expect(await updateRun(db, first, change)).toMatchObject({ status: "running", startedAtMs: startMs + 5 });
    for (const stale of [
      { ...change, revision: 2 },
      { ...change, revision: 1 },
    ])
      expect(await updateRun(db, first, stale)).toBeNull();
    expect(await updateRun(db, { ...first, sessionId: "ses_other" }, { ...change, revision: 9 })).toBeNull();
    const ended = { ...change, status: "succeeded" as const, revision: 3, endedAtMs: startMs + 9 };
    expect(await updateRun(db, first, ended)).toMatchObject({ status: "succeeded", endedAtMs: startMs + 9 });
    expect(await updateRun(db, first, { ...ended, revision: 4, status: "failed" })).toBeNull();
    const end = { status: "interrupted", reason: "session_ended", code: null, message: "It has ended.", pending: "interrupt" } as const;
    expect(await endRun(db, first, { ...end, nowMs: startMs + 10 })).toBeNull();
    expect(await endRun(db, second, { ...end, nowMs: startMs + 10 })).toMatchObject({
      status: "interrupted",
      summary: { reason: end.reason },
    });
    expect(await findRun(db, sessionId, second.id)).toMatchObject({ pending: "interrupt", endedAtMs: startMs + 10 });
    expect(await findRun(db, "ses_other", second.id)).toBeNull();
    expect(await countUnfinished(db, sessionId)).toBe(0);

    const ids = async (filter: object) => (await listRuns(db, { limit: 10, ...filter })).map(({ id }) => id);
    expect(await ids({ partnerId: "acme", sessionId })).toEqual([second.id, first.id]);
    expect(await ids({ externalUserId: "u", after: { createdAt: startMs + 1, id: second.id } })).toEqual([first.id]);
    expect(await ids({ status: "succeeded" })).toEqual([first.id]);
    expect(await ids({ partnerId: "globex" })).toEqual([]);

    expect(await purgeRuns(db, startMs + 10, 10)).toBe(1);
    await db.updateTable("sessions").set({ state: "destroyed", destroyed_at: startMs }).execute();
    await purgeSessions(db, { destroyedBeforeMs: startMs }, 10);
    expect(await ids({})).toEqual([]);
  });
});
