import { isAppError, newId } from "@berth/contract";
import type { RunQuestion } from "@berth/contract/daemon/runs.ts";
import { afterEach, expect, test } from "vitest";
import { onBothEngines } from "../../../tests/support/databases/stores.ts";
import { eventsAfter } from "../../store/events.ts";
import { findRun } from "../../store/runs/read.ts";
import { scriptRuns, type ScriptedRuns } from "../testing/scripted-runs.ts";
import { aRequest, openTestSessions, type TestSessions } from "../testing/test-sessions.ts";

const startedAt = new Date().toISOString();
const question: RunQuestion = {
  itemId: "item_1",
  kind: "permission",
  title: "Run\u001b[2J npm test?",
  tool: { kind: "shell", title: "npm test", input: '{"command":"npm test"}' },
  options: [{ id: "yes", name: "Allow", kind: "allow_once" }],
};

onBothEngines("runs", (databases) => {
  let services: TestSessions;
  let daemon: ScriptedRuns;
  afterEach(() => services[Symbol.asyncDispose]());

  async function open(options: Parameters<typeof openTestSessions>[0] = {}) {
    daemon = scriptRuns();
    services = await openTestSessions({ ...options, wrapLinks: daemon.wrapLinks, databaseUrl: (await databases.create()).url });
    await services.start();
    const session = await services.sessions.create(services.acme, aRequest());
    return { ...services, session, id: session.id };
  }
  const start = (id: string, prompt = "Fix it") => services.runs.create("acme", id, { prompt });
  const delivered = (runId: string) => expect.poll(() => daemon.calls.some(({ body }) => body?.id === runId)).toBe(true);
  const startDelivered = async (id: string) => {
    const run = await start(id);
    await delivered(run.id);
    return run;
  };
  const runEvents = async () =>
    (await eventsAfter(services.store.db, "acme", 0, 5000))
      .filter(({ type }) => type.startsWith("run."))
      .map(({ type, data }) => ({ type, ...data }) as { type: string; runId: string } & Record<string, unknown>);
  const rowOf = (id: string, runId: string) => findRun(services.store.db, id, runId);
  const codeOf = (call: Promise<unknown>) =>
    call.then(
      () => "done",
      (error: unknown) => (isAppError(error) ? error.code : String(error)),
    );

  test("a run reaches its daemon, its reports become its row and events in order, and its end is final", async () => {
    const { id, runs } = await open();
    const { id: runId } = await startDelivered(id);
    expect(daemon.calls[0]).toMatchObject({ method: "POST", path: "", body: { id: runId, run: { prompt: "Fix it" } } });
    daemon.report(runId, "run.started", { status: "running", startedAt, conversationId: "conv_1" });
    daemon.report(runId, "run.needs_input", { status: "needs_input", waitsFor: [question] });
    daemon.report(runId, "run.continued", { status: "running", waitsFor: [] });
    const [text, files] = ["Done.", [{ path: "a.ts", kind: "modified", linesAdded: 1 }]];
    const changes = { text, files, fileCount: 1, tokens: { input: 5, output: 2 }, endedAt: startedAt };
    const entryId = daemon.report(runId, "run.finished", { status: "succeeded", ...changes });
    await expect.poll(async () => (await runEvents()).map(({ type }) => type)).toEqual(["run.started", "run.needs_input", "run.finished"]);
    await expect.poll(daemon.entries).toEqual([]);
    const [, needsInput, finished] = await runEvents();
    expect(needsInput).toMatchObject({ runId, runStatus: "needs_input", waitsFor: [{ title: "Run [2J npm test?" }], status: "running" });
    expect(finished).toMatchObject({ runStatus: "succeeded", tokens: { input: 5, output: 2 }, fileCount: 1, conversationId: "conv_1" });
    const run = await runs.get("acme", id, runId);
    expect(run).toMatchObject({ status: "succeeded", summary: { prompt: "Fix it" }, details: { text, files, waitsFor: [] } });

    // The same again, another end, and an earlier report change nothing.
    daemon.report(runId, "run.finished", { revision: 4, status: "succeeded" }, { entryId });
    daemon.report(runId, "run.finished", { revision: 9, status: "failed", text: "No." });
    daemon.report(runId, "run.started", { revision: 1, status: "running" });
    await expect.poll(daemon.entries).toEqual([]);
    expect(await runEvents()).toHaveLength(3);
    expect(await rowOf(id, runId)).toEqual({ ...run, pending: null });
    // It goes on although it is over, so it is stopped.
    expect(daemon.calls.at(-1)).toMatchObject({ path: `/${runId}/interrupt` });
  });

  test("hostile reports change only runs of their own session, and only to plain, bounded values", async () => {
    const { id, session, sessions, acme } = await open();
    const other = await sessions.create(acme, aRequest());
    const [own, foreign] = [await startDelivered(id), await startDelivered(other.id)];
    const { sandboxId } = session;
    const bad = { runId: own.id, status: "running", revision: 1 };
    const entries: unknown[] = [null, 5, "x", [], { id: "x" }, { data: bad }];
    for (const data of [null, 5, {}, { ...bad, status: "done" }, { ...bad, revision: -1 }, { ...bad, revision: 1.5 }, { ...bad, runId: 7 }])
      entries.push({ id: "0".repeat(23) + entries.length.toString(16), type: "run.started", data });
    entries.push({ id: "1".repeat(24), type: "run.started", data: { ...bad, status: "succeeded" } });
    for (const entry of entries) daemon.addEntry(sandboxId, entry);
    // Another session's run, in this sandbox's outbox.
    daemon.report(foreign.id, "run.finished", { status: "succeeded" }, { sandboxId });
    daemon.report(own.id, "run.needs_input", {
      status: "needs_input",
      startedAt: "+275760-01-01T00:00:00Z",
      prompt: "Another prompt",
      permissions: "allow",
      maxTokens: 1,
      conversationId: "a\u0000b",
      text: `a\u0000\u202eb\n${"x".repeat(1_500_000)}`,
      files: [
        { path: "a\u001b]b", kind: "modified", linesAdded: -1 },
        { path: 5, kind: "modified" },
        { path: "c", kind: "eaten" },
        ...Array(500).fill({ path: "y".repeat(5000), kind: "added" }),
      ],
      fileCount: "many",
      turns: -1,
      tokens: { input: 1e300, output: 1 },
      cost: { amount: -1, currency: "EUR" },
      waitsFor: [question, { ...question, itemId: "a\u0000" }, { ...question, kind: "poem" }, "x", ...Array(50).fill(question)],
      waitingMessages: {},
    });
    await expect.poll(async () => (await rowOf(id, own.id))?.status).toBe("needs_input");
    const run = (await rowOf(id, own.id))!;
    expect(run.summary).toEqual({ ...own.summary, fileCount: 0, turns: 0, tokens: null, cost: null, waitingMessages: 0 });
    expect(run.details.permissions).toBe("ask");
    expect(run.details.text.slice(0, 5)).toBe("ab\nxx");
    expect(run.details.text.length).toBeLessThanOrEqual(32 * 1024);
    expect(run.details.files[0]).toEqual({ path: "a ]b", kind: "modified" });
    expect(run.details.files.length).toBeLessThan(70);
    expect(run.details.waitsFor).toHaveLength(17);
    expect(run.startedAtMs).toBeLessThanOrEqual(services.clock.now());
    expect(await rowOf(other.id, foreign.id)).toMatchObject({ status: "queued", revision: 0 });
    // A response of 10 MB is not read.
    daemon.report(own.id, "run.continued", { status: "running", text: "x".repeat(10_000_000) });
    await services.clock.advance(5000);
    expect(await rowOf(id, own.id)).toMatchObject({ status: "needs_input" });
    const [event, ...more] = await runEvents();
    expect([event!.runId, more]).toEqual([own.id, []]);
    expect(JSON.stringify(event).length).toBeLessThan(10_000);
  });

  test("forms and addresses that a run waits for are bounded, and answered by their action", async () => {
    const { id, runs } = await open();
    const { id: runId } = await startDelivered(id);
    const head = { itemId: "item_2", title: "Your\u0007 name" };
    const text = {
      id: "name",
      label: "Name",
      required: true,
      type: "text",
      maxLength: 9,
      minLength: "x",
      pattern: "(a+)+",
      default: "A\u0000da",
    };
    const choice = { id: "size", label: "Size", type: "choices", choices: [{ id: "s", name: "Small" }, { name: "None" }], default: ["s"] };
    const misfit = { id: "old", label: "Old", type: "boolean", default: "no" };
    const fields = [text, choice, misfit, { id: "x", type: "poem" }, null, ...Array<unknown>(50).fill(text)];
    const url = { ...head, kind: "url", url: "https://example.com/sign-in?a=b" };
    const waitsFor = [
      { ...head, kind: "form", fields },
      url,
      { ...url, url: "javascript:alert(1)" },
      { ...url, url: `https://x/${"y".repeat(9000)}` },
    ];
    daemon.report(runId, "run.needs_input", { status: "needs_input", waitsFor });
    await expect.poll(async () => (await rowOf(id, runId))?.status).toBe("needs_input");
    const asked = (await rowOf(id, runId))!.details.waitsFor;
    const { minLength: _, pattern: __, ...plain } = { ...text, default: "Ada" };
    expect(asked).toMatchObject([
      { title: "Your name", kind: "form" },
      { kind: "url", url: url.url },
    ]);
    expect((asked[0] as { fields: unknown[] }).fields.slice(0, 3)).toEqual([
      plain,
      { ...choice, required: false, choices: [{ id: "s", name: "Small" }] },
      { id: "old", label: "Old", type: "boolean", required: false },
    ]);
    expect((await runEvents())[0]!.waitsFor).toEqual([
      { itemId: "item_2", kind: "form", title: "Your name" },
      { ...url, title: "Your name" },
    ]);
    await runs.answer("acme", id, runId, { itemId: "item_2", action: "accept", values: { name: "Ada" } });
    expect(daemon.calls.at(-1)).toMatchObject({ path: `/${runId}/answer`, body: { action: "accept", values: { name: "Ada" } } });
  });

  test("a run of a fork's sandbox, which its files name, is stopped there", async () => {
    const { id, session } = await open();
    const { id: runId } = await startDelivered(id);
    const stray = newId("run", 1);
    daemon.addEntry(session.sandboxId, {
      id: "2".repeat(24),
      type: "run.started",
      data: { ...daemon.run(runId), runId: stray, status: "running", revision: 7 },
    });
    await expect.poll(() => daemon.calls.map(({ path }) => path)).toContain(`/${stray}/interrupt`);
    await expect.poll(daemon.entries).toEqual([]);
    expect(await runEvents()).toEqual([]);
  });

  test("a run that its server did not deliver, or whose delivery it did not record, is delivered once in effect by another", async () => {
    const { id, links } = await open();
    daemon.answerNext(/^POST $/, { status: 503, code: "busy" });
    const { id: runId } = await start(id);
    await expect.poll(() => daemon.calls.length).toBe(1);
    expect(await rowOf(id, runId)).toMatchObject({ pending: { start: { prompt: "Fix it" } } });
    const gone = Promise.withResolvers<void>();
    daemon.answerNext(/^POST $/, () => gone.promise);
    await using another = services.another({ links });
    await Promise.all(
      [services.clock.advance(1000), another.start()].map((work) => Promise.race([work, expect.poll(() => daemon.calls.length).toBe(2)])),
    );
    gone.resolve();
    await expect.poll(async () => (await rowOf(id, runId))?.pending).toBeNull();
    daemon.report(runId, "run.finished", { status: "succeeded" });
    await expect.poll(async () => (await runEvents()).length).toBe(1);
    await services.clock.advance(3000);
    expect(await runEvents()).toHaveLength(1);
  });

  test("an interrupt that meets the delivery stops the run, whose end can be followed", async () => {
    const { id, runs } = await open();
    const goOn = Promise.withResolvers<void>();
    daemon.answerNext(/^POST $/, () => goOn.promise);
    const { id: runId } = await startDelivered(id);
    const following = runs.find("acme", id, runId);
    await runs.interrupt("acme", id, runId);
    expect((await runEvents()).map(({ type, reason }) => [type, reason])).toEqual([["run.finished", "requested"]]);
    goOn.resolve();
    expect(await following).toMatchObject({ run: { status: "interrupted" }, stream: { path: expect.stringContaining(runId) } });
    await expect.poll(() => daemon.calls.map(({ path }) => path)).toEqual(["", `/${runId}/interrupt`]);
    await expect.poll(async () => (await rowOf(id, runId))?.pending).toBeNull();
  });

  test("what the daemon refuses has failed, with its reason", async () => {
    const { id } = await open();
    daemon.answerNext(/^POST $/, { status: 400, code: "run_never_asks", body: { error: "It never\u0000 asks" } });
    const { id: runId } = await start(id);
    await expect.poll(async () => (await runEvents()).length).toBe(1);
    expect((await runEvents())[0]).toMatchObject({
      runId,
      runStatus: "failed",
      reason: "error",
      code: "run_never_asks",
      message: "It never asks",
    });
    expect(await codeOf(services.runs.message("acme", id, runId, { id: "m", prompt: "And?" }))).toBe("run_ended");
    await services.runs.interrupt("acme", id, runId);
    expect(daemon.calls).toHaveLength(1);
  });

  test("a run waits for the setup of its session, fails with its source, and is interrupted before it begins", async () => {
    const { sessions, acme } = await open();
    const source = { git: { url: "http://127.0.0.1:9/shop.git" } };
    const create = () =>
      sessions.create(acme, aRequest({ source }), {
        record: (tx, view) => services.runs.createIn(tx, view, { id: newId("run", 1), request: { prompt: "Go" } }),
      });
    const first = await create();
    const { id: runId } = (await services.runs.list("acme", first.id, { limit: 1 }))[0]!;
    await services.runs.interrupt("acme", first.id, runId);
    expect(await rowOf(first.id, runId)).toMatchObject({ status: "interrupted", summary: { reason: "requested" } });
    const second = await create();
    await expect.poll(async () => (await sessions.get("acme", second.id)).setup?.source?.status, { timeout: 30_000 }).toBe("failed");
    const events = (await eventsAfter(services.store.db, "acme", 0, 100)).filter(({ sessionId }) => sessionId === second.id);
    expect(events.map(({ type }) => type)).toEqual(["session.created", "run.finished", "session.source_failed"]);
    expect(events[1]!.data).toMatchObject({ runStatus: "failed", code: "run_source_failed" });
    expect(daemon.calls.filter(({ path }) => path === "")).toEqual([]);
    // A run that is asked for afterwards begins.
    await startDelivered(second.id);
  });

  test("unfinished runs end with their session, in its transaction, and stay in a pause", async () => {
    const { id, sessions } = await open();
    const { id: runId } = await startDelivered(id);
    daemon.report(runId, "run.started", { status: "running", startedAt });
    await expect.poll(async () => (await runEvents()).length).toBe(1);
    await sessions.pause("acme", id);
    expect(await rowOf(id, runId)).toMatchObject({ status: "running", endedAtMs: null });
    expect(await codeOf(start(id))).toBe("session_paused");
    await sessions.update("acme", id, { autoResume: true });
    await startDelivered(id);
    await sessions.destroy("acme", id);
    const types = (await eventsAfter(services.store.db, "acme", 0, 100)).map(({ type }) => type);
    expect(types.slice(-3)).toEqual(["run.finished", "run.finished", "session.destroyed"]);
    expect((await runEvents()).at(-1)).toMatchObject({ runStatus: "interrupted", reason: "session_ended", status: "destroyed" });
    expect(await services.runs.get("acme", id, runId)).toMatchObject({ status: "interrupted" });
  });

  test("a lost sandbox ends its runs, and will not go on with them if it returns", async () => {
    const { id, session, reconcile, sessions, driver } = await open();
    const { id: runId } = await startDelivered(id);
    daemon.report(runId, "run.started", { status: "running", startedAt });
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
    daemon.report(runId, "run.started", { status: "running", startedAt });
    await expect.poll(async () => (await rowOf(id, runId))?.status).toBe("running");
    Object.assign(daemon.run(runId), { text: "Halfway", turns: 3, revision: 2 });
    expect(await runs.get("acme", id, runId)).toMatchObject({ summary: { turns: 3 }, details: { text: "Halfway" } });
    // An older report, a wrong one and none.
    Object.assign(daemon.run(runId), { revision: 0 });
    expect(await runs.get("acme", id, runId)).toMatchObject({ summary: { turns: 0 }, status: "running" });
    daemon.answerNext(/^GET/, { status: 200, body: { runId: newId("run", 1), status: "failed", revision: 8 } });
    expect(await runs.get("acme", id, runId)).toMatchObject({ status: "running" });
    daemon.answerNext(/^GET/, { status: 500, body: "" });
    expect(await runs.get("acme", id, runId)).toMatchObject({ status: "running" });
    // The daemon says that it has ended, and has not reported it.
    Object.assign(daemon.run(runId), { revision: 3, status: "succeeded" });
    expect(await runs.get("acme", id, runId)).toMatchObject({ status: "running" });
    daemon.forget(runId);
    expect(await runs.get("acme", id, runId)).toMatchObject({ status: "lost" });
    expect((await runEvents()).at(-1)).toMatchObject({ type: "run.finished", runStatus: "lost" });
  });

  test("messages, answers and interrupts reach the daemon, with its refusals", async () => {
    const { id, runs } = await open();
    const { id: runId } = await startDelivered(id);
    await runs.message("acme", id, runId, { id: "msg_1", prompt: "And tests" });
    await runs.answer("acme", id, runId, { itemId: "item_1", optionId: "yes" });
    await runs.interrupt("acme", id, runId);
    expect(daemon.calls.slice(-3)).toMatchObject([
      { path: `/${runId}/messages`, body: { id: "msg_1", prompt: "And tests" } },
      { path: `/${runId}/answer`, body: { itemId: "item_1", optionId: "yes" } },
      { path: `/${runId}/interrupt` },
    ]);
    daemon.answerNext(/answer/, { status: 409, code: "agent_answered" });
    expect(await codeOf(runs.answer("acme", id, runId, { itemId: "item_1", optionId: "yes" }))).toBe("agent_answered");
    for (const [status, code] of [
      [401, "unauthorized"],
      [409, "unauthorized"],
      [500, "nonsense"],
    ] as const) {
      daemon.answerNext(/messages/, { status, code });
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
