import { isAppError, newId } from "@berth/contract";
import { expect, test } from "vitest";
import { onBothEngines } from "../../../tests/support/databases/stores.ts";
import { eventsAfter } from "../../store/events.ts";
import { aRequest } from "../testing/test-sessions.ts";
import { question, useTestRuns } from "../testing/use-test-runs.ts";

const startedAt = new Date().toISOString();

onBothEngines("runs", (databases) => {
  const { current, open, start, startDelivered, runEvents, rowOf } = useTestRuns(databases);
  const codeOf = (call: Promise<unknown>) =>
    call.then(
      () => "done",
      (error: unknown) => (isAppError(error) ? error.code : String(error)),
    );

  test("a run reaches its daemon, its reports become its row and events in order, and its end is final", async () => {
    const { id, runs } = await open();
    const { id: runId } = await startDelivered(id);
    expect(current.daemon.calls[0]).toMatchObject({ method: "POST", path: "", body: { id: runId, run: { prompt: "Fix it" } } });
    current.daemon.report(runId, "run.started", { status: "running", startedAt, conversationId: "conv_1" });
    current.daemon.report(runId, "run.needs_input", { status: "needs_input", waitsFor: [question] });
    current.daemon.report(runId, "run.continued", { status: "running", waitsFor: [] });
    const [text, files] = ["Done.", [{ path: "a.ts", kind: "modified", linesAdded: 1 }]];
    const changes = { text, files, fileCount: 1, tokens: { input: 5, output: 2 }, endedAt: startedAt };
    const entryId = current.daemon.report(runId, "run.finished", { status: "succeeded", ...changes });
    await expect.poll(async () => (await runEvents()).map(({ type }) => type)).toEqual(["run.started", "run.needs_input", "run.finished"]);
    await expect.poll(current.daemon.entries).toEqual([]);
    const [, needsInput, finished] = await runEvents();
    expect(needsInput).toMatchObject({ runId, runStatus: "needs_input", waitsFor: [{ title: "Run [2J npm test?" }], status: "running" });
    expect(finished).toMatchObject({ runStatus: "succeeded", tokens: { input: 5, output: 2 }, fileCount: 1, conversationId: "conv_1" });
    const run = await runs.get("acme", id, runId);
    expect(run).toMatchObject({ status: "succeeded", summary: { prompt: "Fix it" }, details: { text, files, waitsFor: [] } });

    // The same again, another end, and an earlier report change nothing.
    current.daemon.report(runId, "run.finished", { revision: 4, status: "succeeded" }, { entryId });
    current.daemon.report(runId, "run.finished", { revision: 9, status: "failed", text: "No." });
    current.daemon.report(runId, "run.started", { revision: 1, status: "running" });
    await expect.poll(current.daemon.entries).toEqual([]);
    expect(await runEvents()).toHaveLength(3);
    expect(await rowOf(id, runId)).toEqual({ ...run, pending: null });
    // It goes on although it is over, so it is stopped.
    expect(current.daemon.calls.at(-1)).toMatchObject({ path: `/${runId}/interrupt` });
  });

  test("a run of a fork's sandbox, which its files name, is stopped there", async () => {
    const { id, session } = await open();
    const { id: runId } = await startDelivered(id);
    const stray = newId("run", 1);
    current.daemon.addEntry(session.sandboxId, {
      id: "2".repeat(24),
      type: "run.started",
      data: { ...current.daemon.run(runId), runId: stray, status: "running", revision: 7 },
    });
    await expect.poll(() => current.daemon.calls.map(({ path }) => path)).toContain(`/${stray}/interrupt`);
    await expect.poll(current.daemon.entries).toEqual([]);
    expect(await runEvents()).toEqual([]);
  });

  test("a run that its server did not deliver, or whose delivery it did not record, is delivered once in effect by another", async () => {
    const { id, links } = await open();
    current.daemon.answerNext(/^POST $/, { status: 503, code: "busy" });
    const { id: runId } = await start(id);
    await expect.poll(() => current.daemon.calls.length).toBe(1);
    expect(await rowOf(id, runId)).toMatchObject({ pending: { start: { prompt: "Fix it" } } });
    const gone = Promise.withResolvers<void>();
    current.daemon.answerNext(/^POST $/, () => gone.promise);
    await using another = current.services.another({ links });
    await Promise.all(
      [current.services.clock.advance(1000), another.start()].map((work) =>
        Promise.race([work, expect.poll(() => current.daemon.calls.length).toBe(2)]),
      ),
    );
    gone.resolve();
    await expect.poll(async () => (await rowOf(id, runId))?.pending).toBeNull();
    current.daemon.report(runId, "run.finished", { status: "succeeded" });
    await expect.poll(async () => (await runEvents()).length).toBe(1);
    await current.services.clock.advance(3000);
    expect(await runEvents()).toHaveLength(1);
  });

  test("an interrupt that meets the delivery stops the run, whose end can be followed", async () => {
    const { id, runs } = await open();
    const goOn = Promise.withResolvers<void>();
    current.daemon.answerNext(/^POST $/, () => goOn.promise);
    const { id: runId } = await startDelivered(id);
    const following = runs.find("acme", id, runId);
    await runs.interrupt("acme", id, runId);
    expect((await runEvents()).map(({ type, reason }) => [type, reason])).toEqual([["run.finished", "requested"]]);
    goOn.resolve();
    expect(await following).toMatchObject({ run: { status: "interrupted" }, stream: { path: expect.stringContaining(runId) } });
    await expect.poll(() => current.daemon.calls.map(({ path }) => path)).toEqual(["", `/${runId}/interrupt`]);
    await expect.poll(async () => (await rowOf(id, runId))?.pending).toBeNull();
  });

  test("what the daemon refuses has failed, with its reason", async () => {
    const { id } = await open();
    current.daemon.answerNext(/^POST $/, { status: 400, code: "run_never_asks", body: { error: "It never\u0000 asks" } });
    const { id: runId } = await start(id);
    await expect.poll(async () => (await runEvents()).length).toBe(1);
    expect((await runEvents())[0]).toMatchObject({
      runId,
      runStatus: "failed",
      reason: "error",
      code: "run_never_asks",
      message: "It never asks",
    });
    expect(await codeOf(current.services.runs.message("acme", id, runId, { id: "m", prompt: "And?" }))).toBe("run_ended");
    await current.services.runs.interrupt("acme", id, runId);
    expect(current.daemon.calls).toHaveLength(1);
  });

  test("a run waits for the setup of its session, fails with its source, and is interrupted before it begins", async () => {
    const { sessions, acme } = await open();
    const source = { git: { url: "http://127.0.0.1:9/shop.git" } };
    const create = () =>
      sessions.create(acme, aRequest({ source }), {
        record: (tx, view) => current.services.runs.createIn(tx, view, { id: newId("run", 1), request: { prompt: "Go" } }),
      });
    const first = await create();
    const { id: runId } = (await current.services.runs.list("acme", first.id, { limit: 1 }))[0]!;
    await current.services.runs.interrupt("acme", first.id, runId);
    expect(await rowOf(first.id, runId)).toMatchObject({ status: "interrupted", summary: { reason: "requested" } });
    const second = await create();
    await expect.poll(async () => (await sessions.get("acme", second.id)).setup?.source?.status, { timeout: 30_000 }).toBe("failed");
    const events = (await eventsAfter(current.services.store.db, "acme", 0, 100)).filter(({ sessionId }) => sessionId === second.id);
    expect(events.map(({ type }) => type)).toEqual(["session.created", "run.finished", "session.source_failed"]);
    expect(events[1]!.data).toMatchObject({ runStatus: "failed", code: "run_source_failed" });
    expect(current.daemon.calls.filter(({ path }) => path === "")).toEqual([]);
    // A run that is asked for afterwards begins.
    await startDelivered(second.id);
  });

  test("unfinished runs end with their session, in its transaction, and stay in a pause", async () => {
    const { id, sessions } = await open();
    const { id: runId } = await startDelivered(id);
    current.daemon.report(runId, "run.started", { status: "running", startedAt });
    await expect.poll(async () => (await runEvents()).length).toBe(1);
    await sessions.pause("acme", id);
    expect(await rowOf(id, runId)).toMatchObject({ status: "running", endedAtMs: null });
    expect(await codeOf(start(id))).toBe("session_paused");
    await sessions.update("acme", id, { autoResume: true });
    await startDelivered(id);
    await sessions.destroy("acme", id);
    const types = (await eventsAfter(current.services.store.db, "acme", 0, 100)).map(({ type }) => type);
    expect(types.slice(-3)).toEqual(["run.finished", "run.finished", "session.destroyed"]);
    expect((await runEvents()).at(-1)).toMatchObject({ runStatus: "interrupted", reason: "session_ended", status: "destroyed" });
    expect(await current.services.runs.get("acme", id, runId)).toMatchObject({ status: "interrupted" });
  });

  test("a lost sandbox ends its runs, and will not go on with them if it returns", async () => {
    const { id, session, reconcile, sessions, driver } = await open();
    const { id: runId } = await startDelivered(id);
    current.daemon.report(runId, "run.started", { status: "running", startedAt });
    await expect.poll(async () => (await runEvents()).length).toBe(1);
    await driver.destroy(session.sandboxId, AbortSignal.timeout(20_000));
    await reconcile.repairDifferences();
    await expect.poll(async () => (await sessions.get("acme", id)).status).toBe("paused");
    expect((await runEvents()).at(-1)).toMatchObject({ type: "run.finished", runId, runStatus: "interrupted", reason: "session_ended" });
    expect(await rowOf(id, runId)).toMatchObject({ pending: "interrupt" });
  });

  test("a run is as the daemon says, its end counts when it is recorded, and one that the daemon has forgotten is lost", async () => {
    const { id, runs } = await open();
    const { id: runId } = await startDelivered(id);
    current.daemon.report(runId, "run.started", { status: "running", startedAt });
    await expect.poll(async () => (await rowOf(id, runId))?.status).toBe("running");
    Object.assign(current.daemon.run(runId), { text: "Halfway", turns: 3, revision: 2 });
    expect(await runs.get("acme", id, runId)).toMatchObject({ summary: { turns: 3 }, details: { text: "Halfway" } });
    // An older report, a wrong one and none.
    Object.assign(current.daemon.run(runId), { revision: 0 });
    expect(await runs.get("acme", id, runId)).toMatchObject({ summary: { turns: 0 }, status: "running" });
    current.daemon.answerNext(/^GET/, { status: 200, body: { runId: newId("run", 1), status: "failed", revision: 8 } });
    expect(await runs.get("acme", id, runId)).toMatchObject({ status: "running" });
    current.daemon.answerNext(/^GET/, { status: 500, body: "" });
    expect(await runs.get("acme", id, runId)).toMatchObject({ status: "running" });
    // The daemon says that it has ended, and has not reported it.
    Object.assign(current.daemon.run(runId), { revision: 3, status: "succeeded" });
    expect(await runs.get("acme", id, runId)).toMatchObject({ status: "running" });
    current.daemon.forget(runId);
    expect(await runs.get("acme", id, runId)).toMatchObject({ status: "lost" });
    expect((await runEvents()).at(-1)).toMatchObject({ type: "run.finished", runStatus: "lost" });
  });

  test("messages, answers and interrupts reach the daemon, with its refusals", async () => {
    const { id, runs } = await open();
    const { id: runId } = await startDelivered(id);
    await runs.message("acme", id, runId, { id: "msg_1", prompt: "And tests" });
    await runs.answer("acme", id, runId, { itemId: "item_1", optionId: "yes" });
    await runs.interrupt("acme", id, runId);
    expect(current.daemon.calls.slice(-3)).toMatchObject([
      { path: `/${runId}/messages`, body: { id: "msg_1", prompt: "And tests" } },
      { path: `/${runId}/answer`, body: { itemId: "item_1", optionId: "yes" } },
      { path: `/${runId}/interrupt` },
    ]);
    current.daemon.answerNext(/answer/, { status: 409, code: "agent_answered" });
    expect(await codeOf(runs.answer("acme", id, runId, { itemId: "item_1", optionId: "yes" }))).toBe("agent_answered");
    for (const [status, code] of [
      [401, "unauthorized"],
      [409, "unauthorized"],
      [500, "nonsense"],
    ] as const) {
      current.daemon.answerNext(/messages/, { status, code });
      expect(await codeOf(runs.message("acme", id, runId, { id: "m", prompt: "x" }))).toBe("sandbox_unreachable");
    }
    expect(await codeOf(runs.get("globex", id, runId))).toBe("session_not_found");
    expect(await codeOf(runs.get("acme", id, newId("run", 1)))).toBe("run_not_found");
  });

  test("a session has at most 100 unfinished runs", async () => {
    const { id } = await open();
    await Promise.all(Array.from({ length: 100 }, () => start(id)));
    expect(await codeOf(start(id))).toBe("run_quota");
  });
});
