import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isSandboxId, isSessionId } from "@berth/contract";
import { startTestApp, TEST_BASE_URL, type TestApp } from "../testing/test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app[Symbol.asyncDispose]());

interface SessionBody {
  sessionId: string;
  sandboxId: string;
  status: string;
  sandboxUrl: string;
  createdAt: string;
}

const create = async (body: unknown = { externalUserId: "user-1" }): Promise<SessionBody> => {
  const response = await app.call("POST", "/api/b2b/sessions", { body });
  expect(response.status).toBe(201);
  return response.json;
};

describe("the session routes", () => {
  test("create replies with exactly five fields", async () => {
    const session = await create();
    expect(Object.keys(session).sort()).toEqual(["createdAt", "sandboxId", "sandboxUrl", "sessionId", "status"]);
    expect(isSessionId(session.sessionId)).toBe(true);
    expect(isSandboxId(session.sandboxId)).toBe(true);
    expect(session.status).toBe("running");
    expect(session.sandboxUrl).toBe(`${TEST_BASE_URL}/sandboxes/${session.sandboxId}`);
    expect(session.createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect((await app.call("GET", `/api/b2b/sessions/${session.sessionId}`)).json).toEqual(session);
  });

  test("pause, resume and destroy change the status, and repeating them conflicts", async () => {
    const { sessionId, sandboxId, sandboxUrl } = await create();
    const path = `/api/b2b/sessions/${sessionId}`;
    const step = async (method: string, tail: string) => {
      const { status, json } = await app.call(method, path + tail);
      return [status, json];
    };
    expect(await step("POST", "/pause")).toEqual([200, { status: "paused" }]);
    expect(await step("POST", "/pause")).toEqual([409, { error: "Session is already paused" }]);
    expect(await step("POST", "/resume")).toEqual([200, { status: "running", sandboxId, sandboxUrl }]);
    expect(await step("POST", "/resume")).toEqual([409, { error: "Session is already running" }]);
    expect(await step("DELETE", "")).toEqual([200, { status: "destroyed" }]);
    expect(await step("DELETE", "")).toEqual([200, { status: "destroyed" }]);
    expect((await app.call("GET", path)).json).toMatchObject({ status: "destroyed" });
    for (const tail of ["/pause", "/resume", "/launch-url"])
      expect(await step("POST", tail)).toEqual([404, { error: "Session not found" }]);
  });

  test("the rules of a session are echoed by its details, and most of them can be changed", async () => {
    const rules = { autoResume: true, onTimeout: "destroy", resources: { cpus: 1 }, egress: { policy: "hosts", hosts: ["a.org"] } };
    const { sessionId } = await create({ externalUserId: "user-1", ...rules });
    const path = `/api/b2b/sessions/${sessionId}?expand=details`;
    expect((await app.call("GET", path)).json).toMatchObject({ ...rules, maxTimeoutMs: null });
    const changed = await app.call("PATCH", path, { body: { autoResume: false, onTimeout: "pause" } });
    expect(changed.json).toMatchObject({ ...rules, autoResume: false, onTimeout: "pause" });
    const plain = await create();
    expect((await app.call("GET", `/api/b2b/sessions/${plain.sessionId}?expand=details`)).json).toMatchObject({
      autoResume: false,
      onTimeout: "pause",
      resources: null,
      egress: null,
    });
    const unknown = await app.call("POST", "/api/b2b/sessions", { body: { externalUserId: "u", resources: { gpus: 1 } } });
    expect([unknown.status, JSON.stringify(unknown.json)]).toEqual([400, expect.stringContaining('"field":"resources')]);
  });

  test("launch URLs are issued for paused sessions too", async () => {
    const { sessionId, sandboxId } = await create();
    await app.call("POST", `/api/b2b/sessions/${sessionId}/pause`);
    const before = Date.now();
    const { status, json } = await app.call("POST", `/api/b2b/sessions/${sessionId}/launch-url`);
    const { url, expiresAt } = json as { url: string; expiresAt: number };
    const { origin, pathname, searchParams } = new URL(url);
    expect([status, origin, pathname]).toEqual([200, TEST_BASE_URL, "/workspace/"]);
    expect([...searchParams.keys()]).toEqual(["s", "partner", "ts", "sig"]);
    expect(atob(searchParams.get("s")!)).toBe(sandboxId);
    expect(searchParams.get("partner")).toBe("acme");
    expect(expiresAt).toBeGreaterThanOrEqual(before + 300_000);
    expect(Number(searchParams.get("ts")) + 300_000).toBe(expiresAt);
  });

  test("launch URLs carry the role and the name of a person, whatever media type the body claims", async () => {
    const { sessionId } = await create();
    const launch = (body: unknown, headers = {}) => app.call("POST", `/api/b2b/sessions/${sessionId}/launch-url`, { body, headers });
    const { status, json } = await launch({ role: "viewer", displayName: "Ada 🚢" });
    const { url, role } = json as { url: string; role: string };
    expect([status, role, new URL(url).searchParams.get("role"), new URL(url).searchParams.get("name")]).toEqual([
      200,
      "viewer",
      "viewer",
      "Ada 🚢",
    ]);
    // curl sends this type by default.
    const form = { "content-type": "application/x-www-form-urlencoded" };
    expect((await launch('{"role":"viewer"}', form)).json).toMatchObject({ role: "viewer" });
    for (const body of [
      { role: "owner" },
      { role: null },
      { displayName: "" },
      { displayName: "x".repeat(65) },
      { displayName: "a\u202eb" },
    ])
      expect([body, (await launch(body)).status]).toEqual([body, 400]);
  });

  test("a launch URL is refused if its body is there and not understood, and no restriction is dropped", async () => {
    const { sessionId } = await create();
    const launch = (body: unknown, headers = {}) => app.call("POST", `/api/b2b/sessions/${sessionId}/launch-url`, { body, headers });
    for (const body of ['{"role":"viewer"', '["viewer"]', '"viewer"', "null", "viewer", "role=viewer", "<x/>", " ", '{"role":"viewer"}x'])
      for (const type of ["application/json", "text/plain", "not a media type"]) {
        const { status, json } = await launch(body, { "content-type": type });
        expect([body, type, status, json]).toMatchObject([body, type, 400, { details: [{ field: "body" }] }]);
      }
    for (const body of [undefined, "", {}, { other: 1 }]) expect((await launch(body)).status).toBe(200);
  });

  test("a PATCH of fields that are fixed at create is refused, and nothing else of it happens", async () => {
    const { sessionId } = await create();
    const patch = (body: unknown) => app.call("PATCH", `/api/b2b/sessions/${sessionId}`, { body });
    for (const field of ["envVars", "template", "externalUserId", "autoStartAgent", "volumes"])
      expect(await patch({ metadata: { a: "b" }, [field]: { policy: "none" } })).toMatchObject({
        status: 400,
        json: { details: [{ field }] },
      });
    expect((await patch({ envVars: null, template: null, unknown: 1 })).status).toBe(200);
    expect((await app.call("GET", `/api/b2b/sessions/${sessionId}?expand=details`)).json).toMatchObject({ metadata: {} });
  });

  test("a PATCH changes egress and resources within what the template allows, and null is back to the template", async () => {
    const { sessionId } = await create();
    const patch = (body: unknown) => app.call("PATCH", `/api/b2b/sessions/${sessionId}?expand=details`, { body });
    const rules = [{ host: "a.org", methods: ["GET"], paths: ["/v1/*"] }, "b.org"];
    const egress = { policy: "hosts", hosts: rules };
    expect((await patch({ egress, closeConnections: true })).json).toMatchObject({ egress, resources: null });
    expect((await patch({ egress: null })).json).toMatchObject({ egress: null });
    for (const [body, field] of [
      [{ egress: { policy: "hosts", hosts: ["a.org:25"] } }, "egress.hosts.0"],
      [{ egress: { policy: "hosts", hosts: [{ host: "a.org", paths: ["/a/../b"] }] } }, "egress.hosts.0"],
      [{ egress: { policy: "hosts", hosts: [{ host: "a.org", methods: [] }] } }, "egress.hosts.0.methods"],
      [{ egress: { policy: "none", ports: [1] } }, "egress"],
      [{ closeConnections: true }, "closeConnections"],
      [{ resources: { memoryMb: 4096 } }, "resources.memoryMb"],
      [{ resources: { diskMb: 20_480 } }, "resources.diskMb"],
    ] as const)
      expect(await patch({ metadata: { a: "b" }, ...body })).toMatchObject({
        status: 400,
        json: { details: expect.arrayContaining([expect.objectContaining({ field })]) as unknown },
      });
    expect((await app.call("GET", `/api/b2b/sessions/${sessionId}?expand=details`)).json).toMatchObject({ metadata: {} });
    const other = await app.call("PATCH", `/api/b2b/sessions/ses_${"0".repeat(26)}`, { body: { egress: { policy: "none" } } });
    expect(other.status).toBe(404);
  });

  test("routes without a body ignore whatever is sent", async () => {
    const { sessionId } = await create();
    const path = `/api/b2b/sessions/${sessionId}`;
    const send = (method: string, tail: string, type: string, body: string) =>
      app.call(method, path + tail, { body, headers: { "content-type": type } });
    expect((await send("POST", "/pause", "text/plain", "{nonsense")).status).toBe(200);
    expect((await send("POST", "/resume", "application/json", "")).status).toBe(200);
    expect((await send("DELETE", "", "application/json", "[1")).status).toBe(200);
  });

  test("resume accepts an empty body, {} or autoStartAgent, and refuses anything else", async () => {
    const { sessionId } = await create();
    const resume = async (body?: unknown) => {
      await app.call("POST", `/api/b2b/sessions/${sessionId}/pause`);
      const { status, json } = await app.call("POST", `/api/b2b/sessions/${sessionId}/resume`, { body });
      return [status, (json as { details?: unknown }).details];
    };
    for (const body of [undefined, "", {}, { autoStartAgent: false }, { autoStartAgent: true, other: 1 }])
      expect(await resume(body)).toEqual([200, undefined]);
    expect(await resume({ autoStartAgent: "yes" })).toEqual([400, [{ field: "autoStartAgent", message: "Must be a boolean" }]]);
    expect(await resume({ autoStartAgent: null })).toEqual([400, [{ field: "autoStartAgent", message: "Must be a boolean" }]]);
    for (const body of ["[]", "null", "3", '"x"', "{"]) expect(await resume(body)).toMatchObject([400, [{ field: "body" }]]);
  });

  test("another partner's session, an unknown id and a malformed id are not found", async () => {
    const { sessionId } = await create();
    const key = await app.addPartner("globex");
    const calls = [
      ["GET", ""],
      ["DELETE", ""],
      ["POST", "/pause"],
      ["POST", "/resume"],
      ["POST", "/launch-url"],
    ] as const;
    for (const [method, tail] of calls) {
      const foreign = await app.call(method, `/api/b2b/sessions/${sessionId}${tail}`, { key });
      expect([foreign.status, foreign.text]).toEqual([404, '{"error":"Session not found"}']);
      for (const id of ["ses_00000000000000000000000000", "1", "..%2f", "%00", "%ZZ", "x".repeat(5000), "ses_%F0%9F%98%80"]) {
        const response = await app.call(method, `/api/b2b/sessions/${id}${tail}`);
        expect([id, response.status, response.text]).toEqual([id, 404, foreign.text]);
      }
    }
    expect((await app.call("GET", `/api/b2b/sessions/${sessionId}`)).status).toBe(200);
  });
});
