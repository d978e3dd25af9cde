import { afterAll, beforeAll, expect, test } from "vitest";
import type { ForkedSessions, SessionRead, Snapshot } from "@berth/contract";
import { describeWith, machine } from "../support/machine.ts";
import { daemonRuntime } from "../support/runtime.ts";
import { startBerth, type Berth } from "../support/servers/berth.ts";

const missing = await machine.oci();
describeWith(undefined, "snapshots", () => suite(missing ? "process" : "oci"));

function suite(driver: string): void {
  let server: Berth;

  beforeAll(async () => {
    await daemonRuntime();
    server = await startBerth({ BERTH_DRIVER: driver, BERTH_MAX_SNAPSHOTS: "2" });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const call = async <Body>(method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const response = await fetch(`${server.url}/api/b2b${path}`, {
      method,
      headers: { authorization: `Bearer ${server.key}`, "content-type": "application/json", ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Body, replayed: response.headers.get("idempotent-replayed") };
  };
  const create = (body: object = {}) => call<SessionRead>("POST", "/sessions", { externalUserId: "ada", autoStartAgent: false, ...body });
  const details = async (id: string) => (await call<SessionRead>("GET", `/sessions/${id}?expand=details`)).body;
  const run = async (sandboxId: string, command: string) => (await server.api.exec(sandboxId, ["sh", "-c", command])).stdout;
  const eventsOf = async (snapshotId: string) => {
    const { body } = await call<{ data: { type: string; data: { snapshotId?: string } }[] }>("GET", "/events?limit=100");
    return body.data.filter(({ data }) => data.snapshotId === snapshotId).map(({ type }) => type);
  };

  test("a session starts with the files of a snapshot, without a second setup", async () => {
    const { body: session } = await create({ setup: "echo set up >> setups" });
    const setups = () => run(session.sandboxId, "cat setups 2> /dev/null || true");
    await expect.poll(setups, { timeout: 30_000 }).toBe("set up\n");
    await run(session.sandboxId, "echo one > note; echo settings > ~/.settings");
    const taken = await call<Snapshot>("POST", `/sessions/${session.sessionId}/snapshots`, { name: "first" });
    expect(taken).toMatchObject({
      status: 201,
      body: { name: "first", status: "ready", sessionId: session.sessionId, template: "default" },
    });
    const { id } = taken.body;
    await run(session.sandboxId, "echo two > note");
    await call("DELETE", `/sessions/${session.sessionId}`);

    // Only a command of the create itself runs.
    const { status, body: copy } = await create({ source: { snapshotId: id }, setup: "echo again >> setups" });
    expect(status).toBe(201);
    expect(await run(copy.sandboxId, "cat note ~/.settings")).toBe("one\nsettings\n");
    expect(await details(copy.sessionId)).toMatchObject({ source: { snapshotId: id, status: "ready" } });
    await expect.poll(() => run(copy.sandboxId, "cat setups"), { timeout: 30_000 }).toBe("set up\nagain\n");

    expect(await call("GET", "/snapshots")).toMatchObject({ status: 200, body: { data: [{ id }], nextCursor: null } });
    expect(await call("DELETE", `/snapshots/${id}`)).toMatchObject({ status: 200, body: { id, deleted: true } });
    expect(await call("GET", `/snapshots/${id}`)).toMatchObject({ status: 404 });
    expect(await create({ source: { snapshotId: id } })).toMatchObject({ status: 404 });
    expect(await eventsOf(id)).toEqual(["snapshot.created", "snapshot.deleted"]);
    expect(await run(copy.sandboxId, "cat note")).toBe("one\n");
    await call("DELETE", `/sessions/${copy.sessionId}`);
  });

  test("three forks of a paused session have its files, and a repeated request gets the same three", async () => {
    const { body: session } = await create();
    await run(session.sandboxId, "mkdir app; echo kept > app/note; sync");
    await call("POST", `/sessions/${session.sessionId}/pause`);
    const request = {
      externalUserId: "ada",
      autoStartAgent: false,
      source: { sessionId: session.sessionId },
      count: 3,
      run: { prompt: "Try" },
    };
    const key = { "idempotency-key": `three forks on ${driver}` };
    const forked = await call<ForkedSessions>("POST", "/sessions", request, key);
    expect(forked).toMatchObject({ status: 207 });
    const forks = forked.body.sessions.map((each) => each.session!);
    expect(new Set(forks.map(({ sessionId }) => sessionId)).size).toBe(3);
    for (const { sessionId, run: own } of forks)
      expect(await call("GET", `/sessions/${sessionId}/runs`)).toMatchObject({ body: { data: [{ runId: own!.runId }] } });
    expect(new Set(forks.map(({ run: own }) => own!.runId)).size).toBe(3);
    for (const [i, fork] of forks.entries()) expect(await run(fork.sandboxId, `echo ${i} >> app/note; cat app/note`)).toBe(`kept\n${i}\n`);
    expect(await details(forks[0]!.sessionId)).toMatchObject({ source: { sessionId: session.sessionId, status: "ready" } });
    expect(await details(session.sessionId)).toMatchObject({ status: "paused" });
    const again = await call<ForkedSessions>("POST", "/sessions", request, key);
    expect(again).toMatchObject({ status: 207, replayed: "true", body: forked.body });
    // The copy that the forks came from is gone.
    expect(await call("GET", "/snapshots")).toMatchObject({ body: { data: [] } });
    for (const { sessionId } of [session, ...forks]) await call("DELETE", `/sessions/${sessionId}`);
  });

  test("a snapshot of a session that writes has whole files, and the session goes on", async () => {
    const { body: session } = await create();
    const writer = "i=0; while :; do i=$((i+1)); echo $i > new; head -c 200000 /dev/zero >> new; mv new current; echo $i >> log; done";
    await server.api.exec(session.sandboxId, ["sh", "-c", `(${writer}) > /dev/null 2>&1 & sleep 0.3`]);
    const taken = await call<Snapshot>("POST", `/sessions/${session.sessionId}/snapshots`);
    expect(taken).toMatchObject({ status: 201 });
    const countLines = async (sandboxId: string) => Number(await run(sandboxId, "wc -l < log"));
    const now = await countLines(session.sandboxId);
    await expect.poll(() => countLines(session.sandboxId), { timeout: 30_000 }).toBeGreaterThan(now);
    const { body: copy } = await create({ source: { snapshotId: taken.body.id } });
    // The log has the number of the current file, or the one before.
    const [size, lag] = (await run(copy.sandboxId, "wc -c < current; echo $(( $(head -1 current) - $(tail -1 log) ))"))
      .split("\n")
      .map(Number);
    expect(size).toBeGreaterThan(200_000);
    expect([0, 1]).toContain(lag);
    expect(await countLines(copy.sandboxId)).toBeLessThanOrEqual(now);
    for (const { sessionId } of [session, copy]) await call("DELETE", `/sessions/${sessionId}`);
    await call("DELETE", `/snapshots/${taken.body.id}`);
  });

  test("requests that make no sense, foreign snapshots and too many of them are refused", async () => {
    const { body: session } = await create();
    const path = `/sessions/${session.sessionId}/snapshots`;
    expect(await create({ source: {} })).toMatchObject({ status: 400, body: { details: [{ field: "source" }] } });
    expect(await create({ count: 2 })).toMatchObject({ status: 400, body: { details: [{ field: "count" }] } });
    expect(await create({ source: { sessionId: session.sessionId }, count: 21 })).toMatchObject({ status: 400 });
    expect(await create({ source: { snapshotId: "snp_none" } })).toMatchObject({ status: 404 });
    expect(await call("POST", path, { name: 3 })).toMatchObject({ status: 400, body: { details: [{ field: "name" }] } });
    const taken = [await call<Snapshot>("POST", path), await call<Snapshot>("POST", path)];
    expect(await call("POST", path)).toMatchObject({ status: 409, body: { error: "The limit of 2 snapshots is reached" } });
    const page = await call<{ nextCursor: string }>("GET", "/snapshots?limit=1");
    expect(page).toMatchObject({ body: { data: [{ id: taken[1]!.body.id }] } });
    expect(await call("GET", `/snapshots?limit=1&cursor=${page.body.nextCursor}`)).toMatchObject({
      body: { data: [{ id: taken[0]!.body.id }], nextCursor: null },
    });
    for (const { body } of taken) await call("DELETE", `/snapshots/${body.id}`);
    await call("DELETE", `/sessions/${session.sessionId}`);
  });
}
