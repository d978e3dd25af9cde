import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestClock } from "../../testing/test-clock.ts";
import { startTestApp, type TestApp } from "../testing/test-app.ts";

let app: TestApp;
const clock = createTestClock();
beforeAll(async () => {
  app = await startTestApp({ clock });
});
afterAll(() => app[Symbol.asyncDispose]());

interface Listed {
  data: { sessionId: string; status: string; createdAt: string; metadata?: Record<string, string> }[];
  nextCursor: string | null;
}
const create = async (body: object): Promise<string> => {
  await clock.advance(1);
  const { json } = await app.call("POST", "/api/b2b/sessions", { body });
  return (json as { sessionId: string }).sessionId;
};
const list = async (query = ""): Promise<Listed> => {
  const { status, json } = await app.call("GET", `/api/b2b/sessions${query}`);
  expect(status).toBe(200);
  return json;
};
const ids = async (query: string) => (await list(query)).data.map(({ sessionId }) => sessionId);

test("lists are newest first, paged, filtered, and detailed on request", async () => {
  const [a, b, c] = [
    await create({ externalUserId: "ann", metadata: { plan: "pro" } }),
    await create({ externalUserId: "bob", metadata: { plan: "free" } }),
    await create({ externalUserId: "ann" }),
  ];
  await app.call("POST", `/api/b2b/sessions/${b}/pause`);
  expect(await ids("")).toEqual([c, b, a]);
  expect(await ids("?externalUserId=ann")).toEqual([c, a]);
  expect(await ids("?status=paused")).toEqual([b]);
  expect(await ids("?metadata.plan=pro&status=running")).toEqual([a]);
  expect(await ids("?metadata.plan=none")).toEqual([]);
  expect(await ids("?metadata[plan]=pro")).toEqual([a]);
  expect(await ids("?metadata%5Bplan%5D=pro&metadata[team]=x")).toEqual([]);

  const first = await list("?limit=2");
  const d = await create({ externalUserId: "dee" });
  await app.call("DELETE", `/api/b2b/sessions/${a}`);
  const second = await list(`?limit=2&cursor=${first.nextCursor}`);
  expect([first, second].flatMap(({ data }) => data.map(({ sessionId }) => sessionId))).toEqual([c, b, a]);
  expect([second.data[0]!.status, second.nextCursor]).toEqual(["destroyed", null]);
  expect(Object.keys(first.data[0]!).sort()).toEqual(["createdAt", "sandboxId", "sandboxUrl", "sessionId", "status"]);

  const [detailed] = (await list("?expand=details&limit=1")).data;
  expect(detailed).toMatchObject({
    sessionId: d,
    externalUserId: "dee",
    template: "default",
    metadata: {},
    idleTimeoutMs: null,
    stopReason: null,
  });
  expect(await ids("?unknown=1")).toHaveLength(4);
  const other = await app.addPartner("globex");
  expect((await app.call("GET", "/api/b2b/sessions", { key: other })).json).toEqual({ data: [], nextCursor: null });
});

test("every fault of the query is reported", async () => {
  const faults = async (query: string) => {
    const { status, json } = await app.call("GET", `/api/b2b/sessions${query}`);
    return [status, ...(json as { details: { field: string }[] }).details.map(({ field }) => field)];
  };
  expect(await faults("?status=sleeping&limit=0&cursor=zzz")).toEqual([400, "limit", "status", "cursor"]);
  for (const limit of ["101", "-1", "1.5", "", "x", "1e1"]) expect(await faults(`?limit=${limit}`)).toEqual([400, "limit"]);
  expect(await faults("?status=running&status=paused")).toEqual([400, "status"]);
  expect(await faults("?metadata[plan]=a&metadata.plan=b")).toEqual([400, "metadata[plan]", "metadata.plan"]);
  expect(await faults("?expand=everything")).toEqual([400, "expand"]);
  for (const cursor of ["", "AAAA", Buffer.from("1.ses_x").toString("base64url"), "%00"])
    expect(await faults(`?cursor=${cursor}`)).toEqual([400, "cursor"]);
});

test("an update changes timeout, metadata and the ETag", async () => {
  const id = await create({ externalUserId: "eve", metadata: { plan: "free", team: "x" } });
  const path = `/api/b2b/sessions/${id}`;
  const get = async (etag?: string | null) => app.call("GET", `${path}?expand=details`, { headers: etag ? { "if-none-match": etag } : {} });
  const first = await get();
  const etag = first.headers.get("etag");
  expect(etag).toMatch(/^"[^"]+"$/);
  for (const match of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
    const same = await get(match);
    expect([same.status, same.text, same.headers.get("etag")]).toEqual([304, "", etag]);
  }
  expect((await get('"other"')).status).toBe(200);

  const patch = await app.call("PATCH", `${path}?expand=details`, {
    body: { timeoutMs: 120_000, idleTimeoutMs: 600_000, metadata: { plan: "pro" } },
  });
  expect(patch.json).toMatchObject({ sessionId: id, metadata: { plan: "pro" }, expiresAt: new Date(clock.now() + 120_000).toISOString() });
  const changed = await get(etag);
  expect(changed.status).toBe(200);
  expect(changed.headers.get("etag")).not.toBe(etag);
  expect((await app.call("PATCH", path, { body: { metadata: { a: "1" } } })).status).toBe(200);
  expect((await get(changed.headers.get("etag"))).status).toBe(200);

  const refused = await app.call("PATCH", path, { body: { timeoutMs: 1, metadata: { a: 5 } } });
  expect((refused.json as { details: { field: string }[] }).details.map(({ field }) => field).sort()).toEqual(["metadata.a", "timeoutMs"]);
  expect((await app.call("PATCH", path)).json).toMatchObject({ details: [{ field: "body" }] });
  await app.call("DELETE", path);
  expect((await app.call("PATCH", path, { body: {} })).status).toBe(404);
});
