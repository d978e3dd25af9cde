import { setTimeout as delay } from "node:timers/promises";
import { newId, type RunList, type RunStarted, type Session } from "@berth/contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { issueKey } from "../../keys/keys.ts";
import { aRequest, openTestSessions, type TestSessions } from "../../sessions/testing/test-sessions.ts";
import { scriptRuns } from "../../sessions/testing/scripted-runs.ts";
import { startTestApp, type CallOptions, type TestApp } from "../testing/test-app.ts";

const daemon = scriptRuns();
let services: TestSessions;
let app: TestApp;
beforeAll(async () => {
  services = await openTestSessions({ wrapLinks: daemon.wrapLinks });
  await services.start();
  const { store, sessions, runs, snapshots, clock } = services;
  app = await startTestApp({
    store,
    sessions,
    runs,
    snapshots,
    clock,
    async relayStream(_request, response, { sandboxId, path, onUnknown }) {
      const { status, body } = await services.links.request(sandboxId, { method: "GET", path });
      body.resume();
      if (status === 404) return onUnknown();
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end("data: {}\n\n");
    },
  });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await services[Symbol.asyncDispose]();
});

const base = "/api/b2b/sessions";
const post = (path: string, body?: object, options: CallOptions = {}) => app.call("POST", `${base}${path}`, { body, ...options });
const newSession = async () => (await services.sessions.create(services.acme, aRequest())).id;
const start = async (id: string, prompt = "Fix it") => ((await post(`/${id}/runs`, { prompt })).json as RunStarted).runId;
const startDelivered = async (id: string) => {
  const runId = await start(id);
  await expect.poll(() => daemon.calls.some(({ body }) => body?.id === runId)).toBe(true);
  return runId;
};
const show = ({ status, headers }: { status: number; headers: Headers }) =>
  [status, headers.get("x-error-code")].filter((part) => part !== null).join(" ");

test("a run is started once by its Idempotency-Key, read, listed in pages, steered and followed", async () => {
  const id = await newSession();
  const options = { headers: { "idempotency-key": "first" } };
  const [one, again] = [await post(`/${id}/runs`, { prompt: "One" }, options), await post(`/${id}/runs`, { prompt: "One" }, options)];
  expect([one.status, again.text, again.headers.get("idempotent-replayed")]).toEqual([201, one.text, "true"]);
  const { runId } = one.json as RunStarted;
  await services.clock.advance(1);
  const second = await start(id, "Two");
  const list = async (query = "") => (await app.call("GET", `${base}/${id}/runs${query}`)).json as RunList;
  const first = await list("?limit=1");
  expect([first.data.map(({ prompt }) => prompt), first.data[0]!.runId]).toEqual([["Two"], second]);
  expect((await list(`?limit=1&cursor=${first.nextCursor}`)).data).toMatchObject([
    { runId, sessionId: id, status: "queued", endedAt: null },
  ]);
  expect((await list("?status=failed")).data).toEqual([]);
  expect((await app.call("GET", `${base}/${id}/runs?status=x&limit=0&cursor=y`)).json).toMatchObject({ details: [{}, {}, {}] });

  const path = `/${id}/runs/${runId}`;
  await expect.poll(() => daemon.calls.some(({ body }) => body?.id === runId)).toBe(true);
  expect((await app.call("GET", `${base}${path}`)).json).toMatchObject({
    runId,
    prompt: "One",
    permissions: "ask",
    waitsFor: [],
    files: [],
  });
  const message = { headers: { "idempotency-key": "message" } };
  expect(show(await post(`${path}/messages`, { prompt: "More" }, message))).toBe("202");
  expect(show(await post(`${path}/messages`, { prompt: "More" }, message))).toBe("202");
  expect(show(await post(`${path}/answer`, { itemId: "item_1", optionId: "yes" }))).toBe("204");
  for (const body of [{ itemId: "item_1" }, { itemId: "item_1", optionId: "yes", action: "accept" }])
    expect(show(await post(`${path}/answer`, body))).toBe("400 validation_failed");
  const events = await app.call("GET", `${base}${path}/events`);
  expect([events.text, events.headers.get("x-request-id")]).toEqual(["data: {}\n\n", expect.stringMatching(/^req_/)]);
  expect(show(await post(`${path}/interrupt`))).toBe("204");
  const actions = daemon.calls.filter((call) => call.path.startsWith(`/${runId}/`)).map((call) => call.path.split("/")[2]);
  expect(actions).toEqual(["messages", "answer", "events", "interrupt"]);
  const audit = await services.store.db.selectFrom("audit").select("action").where("target", "=", runId).orderBy("seq").execute();
  expect(audit.map(({ action }) => action)).toEqual(["run.create", "run.message", "run.answer", "run.interrupt"]);
});

test("every fault of a run is reported, and a rule that could be misread is refused", async () => {
  const id = await newSession();
  const faults = async (body: object) => {
    const { status, json } = await post(`/${id}/runs`, body);
    return [status, ...new Set((json as { details: { field: string }[] }).details.map(({ field }) => field))];
  };
  expect(await faults({})).toEqual([400, "prompt"]);
  expect(await faults({ prompt: "", maxTurns: 0, maxTokens: "many", timeoutMs: 1 })).toEqual([
    400,
    "prompt",
    "maxTurns",
    "maxTokens",
    "timeoutMs",
  ]);
  const rules = [
    { tool: "shell", path: "src/**", allow: true },
    { tool: "edit", command: "x", allow: true },
    { tool: "edit", paths: ["src"], allow: true },
    { tool: "edit" },
    { tool: "sing", allow: true },
  ];
  for (const rule of rules) expect((await faults({ prompt: "x", permissions: [rule] }))[0]).toBe(400);
  expect((await faults({ prompt: "x", permissions: "never" }))[0]).toBe(400);
  expect(await faults({ prompt: "x", attachments: [{}] })).toEqual([400, expect.stringMatching(/^attachments\.0/), expect.anything()]);
  expect(show(await post(`/${id}/runs`, { prompt: "x".repeat(1024 * 1024) }))).toBe("413 body_too_large");
  const created = await post("", { externalUserId: "u", run: { permissions: [rules[0]] } });
  expect([created.status, (created.json as { details: { field: string }[] }).details[0]!.field]).toEqual([400, "run.prompt"]);
});

test("another partner's runs are not found, and a key that only reads starts nothing", async () => {
  const id = await newSession();
  const runId = await start(id);
  const [key, { key: reader }] = [
    await app.addPartner("globex"),
    await issueKey(services.store.db, services.clock, "acme", { scope: "read" }),
  ];
  const own = (await services.sessions.create({ ...services.acme, id: "globex" }, aRequest())).id;
  const calls = [
    ["GET", ""],
    ["GET", "/events"],
    ["POST", "/messages", { prompt: "x" }],
    ["POST", "/interrupt"],
    ["POST", "/answer", { itemId: "a", optionId: "b" }],
  ] as const;
  for (const [method, path, body] of calls) {
    const options = { key, ...(body && { body }) };
    expect(show(await app.call(method, `${base}/${id}/runs/${runId}${path}`, options))).toBe("404 session_not_found");
    for (const other of [runId, newId("run", 1), "x", "%00"])
      expect(show(await app.call(method, `${base}/${own}/runs/${other}${path}`, options))).toBe("404 run_not_found");
    const isRead = method === "GET" && path === "";
    const answer = show(await app.call(method, `${base}/${id}/runs/${runId}${path}`, { ...options, key: reader }));
    expect([path, answer]).toEqual([path, isRead ? "200" : "403 insufficient_scope"]);
  }
  expect(show(await post(`/${id}/runs`, { prompt: "x" }, { key: reader }))).toBe("403 insufficient_scope");
  expect(show(await app.call("GET", `${base}/${id}/runs`, { key: reader }))).toBe("200");
});

test("a session is created with its run, in one transaction and once by its Idempotency-Key", async () => {
  const body = { externalUserId: "u", autoStartAgent: false, run: { prompt: "Begin" } };
  const options = { headers: { "idempotency-key": "with run" } };
  const created = (await post("", body, options)).json as Session & { run: RunStarted };
  expect(created.run).toEqual({ runId: expect.stringMatching(/^run_/), status: "queued" });
  expect((await post("", body, options)).json).toEqual(created);
  const { data } = (await app.call("GET", `${base}/${created.sessionId}/runs`)).json as RunList;
  expect(data.map(({ runId }) => runId)).toEqual([created.run.runId]);
  await expect.poll(() => daemon.calls.some((call) => call.body?.id === created.run.runId)).toBe(true);
  // Without one, the response is what it was.
  expect(Object.keys((await post("", { externalUserId: "u" })).json)).not.toContain("run");
});

test("of a run whose sandbox is gone, or does not know it, the end is left to follow", async () => {
  const id = await newSession();
  const runId = await startDelivered(id);
  const path = `${base}/${id}/runs/${runId}/events`;
  daemon.forget(runId);
  expect(show(await app.call("GET", path))).toBe("404 run_not_found");
  await app.call("GET", `${base}/${id}/runs/${runId}`);
  const isEnd = async () => {
    const { text, headers } = await app.call("GET", path);
    expect(headers.get("content-type")).toBe("text/event-stream");
    expect(JSON.parse(text.split("\n")[1]!.slice("data: ".length))).toMatchObject({ type: "end", run: { runId, status: "lost" } });
  };
  await isEnd();
  await app.call("DELETE", `${base}/${id}`);
  await isEnd();
  expect((await app.call("GET", path, { headers: { "last-event-id": "end" } })).status).toBe(204);
});

// The answers of each call: start, list, get, follow, message, interrupt, answer.
const running = ["201", "200", "200", "200", "202", "204", "204"];
const paused = ["409 session_paused", "200", "200", ...Array<string>(4).fill("409 session_paused")];
// Reading wakes nothing.
const woken = running.with(3, "409 session_paused");
const destroyed = ["404 session_not_found", "200", "200", ...Array<string>(4).fill("404 session_not_found")];
const hidden = Array<string>(7).fill("404 session_not_found");
// A session in a step, and the state that follows while the calls wait for it.
const MATRIX: [state: string, columns: object, next: object | null, answers: string[]][] = [
  ["creating", { state: "creating", generation: 2 }, null, hidden],
  ["running", { state: "running" }, null, running],
  ["thawing", { state: "thawing" }, null, running],
  ["pausing", { state: "pausing" }, { state: "paused", paused_at: 1 }, paused],
  ["paused", { state: "paused", paused_at: 1 }, null, paused],
  ["hibernating", { state: "hibernating", paused_at: 1 }, { state: "paused", hibernated: 1 }, paused],
  ["resuming", { state: "resuming", paused_at: 1 }, null, paused],
  ["paused, and may be woken", { state: "paused", paused_at: 1, auto_resume: 1 }, null, woken],
  ["resuming, and may be woken", { state: "resuming", paused_at: 1, auto_resume: 1 }, { state: "running", paused_at: null }, woken],
  ["destroying", { state: "destroying" }, null, destroyed],
  ["destroyed", { state: "destroyed", destroyed_at: 1 }, null, destroyed],
];

test.each(MATRIX)("calls of runs meet a session that is %s", async (name, columns, next, answers) => {
  const id = await newSession();
  const runId = await startDelivered(id);
  await expect
    .poll(
      async () =>
        (
          await services.store.db
            .selectFrom("runs")
            .select("pending")
            .where("id", "=", runId as never)
            .execute()
        )[0],
    )
    .toEqual({ pending: null });
  const { db } = services.store;
  const original = await db.selectFrom("sessions").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
  const isStep = (columns as { state: string }).state.endsWith("ing") && name !== "running";
  const lease = isStep ? { lease_owner: "another server", lease_until: services.clock.now() + 60_000 } : {};
  await db
    .updateTable("sessions")
    .set({ ...lease, ...columns })
    .where("id", "=", id)
    .execute();
  const path = `/${id}/runs/${runId}`;
  const answering = Promise.all([
    post(`/${id}/runs`, { prompt: "Another" }),
    app.call("GET", `${base}/${id}/runs`),
    app.call("GET", `${base}${path}`),
    app.call("GET", `${base}${path}/events`),
    post(`${path}/messages`, { prompt: "More" }),
    post(`${path}/interrupt`),
    post(`${path}/answer`, { itemId: "item_1", optionId: "yes" }),
  ]);
  if (next) {
    // The calls that wait for the step look again and again.
    await delay(100);
    await db
      .updateTable("sessions")
      .set({ lease_owner: null, lease_until: null, ...next })
      .where("id", "=", id)
      .execute();
  }
  expect((await answering).map(show)).toEqual(answers);
  await db.updateTable("sessions").set(original).where("id", "=", id).execute();
});
