import { expect, test } from "vitest";
import { onBothEngines } from "../../../tests/support/databases/stores.ts";
import { aRequest } from "../testing/test-sessions.ts";
import { question, useTestRuns } from "../testing/use-test-runs.ts";

onBothEngines("reports of runs", (databases) => {
  const { current, open, startDelivered, runEvents, rowOf } = useTestRuns(databases);

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
    for (const entry of entries) current.daemon.addEntry(sandboxId, entry);
    // Another session's run, in this sandbox's outbox.
    current.daemon.report(foreign.id, "run.finished", { status: "succeeded" }, { sandboxId });
    current.daemon.report(own.id, "run.needs_input", {
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
    expect(run.startedAtMs).toBeLessThanOrEqual(current.services.clock.now());
    expect(await rowOf(other.id, foreign.id)).toMatchObject({ status: "queued", revision: 0 });
    // A response of 10 MB is not read.
    current.daemon.report(own.id, "run.continued", { status: "running", text: "x".repeat(10_000_000) });
    await current.services.clock.advance(5000);
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
    current.daemon.report(runId, "run.needs_input", { status: "needs_input", waitsFor });
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
    expect(current.daemon.calls.at(-1)).toMatchObject({ path: `/${runId}/answer`, body: { action: "accept", values: { name: "Ada" } } });
  });
});
