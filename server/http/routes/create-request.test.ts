import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestApp, type TestApp } from "../testing/test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app[Symbol.asyncDispose]());

describe("a create request", () => {
  const create = async (body: unknown) => {
    const response = await app.call("POST", "/api/b2b/sessions", { body });
    expect(response.status).toBe(201);
    return response.json;
  };
  const refused = async (body: unknown, headers?: Record<string, string>) => {
    const response = await app.call("POST", "/api/b2b/sessions", { body, headers });
    return { ...(response.json as { error: string; details?: { field: string; message: string }[] }), status: response.status };
  };

  test("reports all faults at once", async () => {
    const body = {
      timeoutMs: "60000",
      envVars: { "A=B": "x", BERTH_X: "1", OK: 5, "": "x" },
      metadata: { plan: "x".repeat(513) },
      template: "nope",
      autoStartAgent: 1,
    };
    const { status, error, details } = await refused(body);
    expect([status, error]).toEqual([400, "Validation failed"]);
    const rule = "A name has 1 to 128 characters, no = and no NUL, and does not begin with BERTH_";
    expect(details).toEqual(
      expect.arrayContaining([
        { field: "externalUserId", message: "Required" },
        { field: "timeoutMs", message: "Must be an integer" },
        { field: "envVars.A=B", message: rule },
        { field: "envVars.BERTH_X", message: rule },
        { field: "envVars.", message: rule },
        { field: "envVars.OK", message: "Must be a string" },
        { field: "metadata.plan", message: "Must have at most 512 characters" },
        { field: "template", message: "Not a configured template" },
        { field: "autoStartAgent", message: "Must be a boolean" },
      ]),
    );
    expect(details).toHaveLength(9);
  });

  test.each([
    [{ externalUserId: "" }, "externalUserId", "Must not be empty"],
    [{ externalUserId: "x".repeat(257) }, "externalUserId", "Must have at most 256 characters"],
    [{ externalUserId: "a\0b" }, "externalUserId", "Must not contain NUL"],
    [{ externalUserId: null }, "externalUserId", "Must be a string"],
    [{ externalUserId: "u", timeoutMs: 59_999 }, "timeoutMs", "Must be at least 60000"],
    [{ externalUserId: "u", timeoutMs: 86_400_001 }, "timeoutMs", "Must be at most 86400000"],
    [{ externalUserId: "u", timeoutMs: 60_000.5 }, "timeoutMs", "Must be an integer"],
    [{ externalUserId: "u", idleTimeoutMs: 119_999 }, "idleTimeoutMs", "Must be at least 120000"],
    [{ externalUserId: "u", idleTimeoutMs: "2m" }, "idleTimeoutMs", "Must be an integer"],
    [{ externalUserId: "u", autoResume: "yes" }, "autoResume", "Must be a boolean"],
    [{ externalUserId: "u", onTimeout: "stop" }, "onTimeout", "Must be one of pause, destroy"],
    [{ externalUserId: "u", resources: { memoryMb: 63 } }, "resources.memoryMb", "Must be at least 64"],
    [
      { externalUserId: "u", resources: { memoryMb: 4096 } },
      "resources.memoryMb",
      "Must be 2048, because the template allows no other value",
    ],
    [{ externalUserId: "u", egress: { policy: "all" } }, "egress.policy", "Must be one of none, public, hosts"],
    [
      { externalUserId: "u", egress: { policy: "hosts", hosts: ["a.org", "a.org:25"] } },
      "egress.hosts.1",
      "The template does not allow this host",
    ],
    [
      { externalUserId: "u", source: { git: { url: "git@example.com:shop.git" } } },
      "source.git.url",
      "Must be a URL that begins with http:// or https://, without a user, query and fragment",
    ],
    [
      { externalUserId: "u", volumes: [{ name: "Cache", path: "/data/cache", mode: "ro" }] },
      "volumes.0.name",
      "Must match ^[a-z0-9][a-z0-9-]{0,62}$",
    ],
    [{ externalUserId: "u", template: 5 }, "template", "Must be a string"],
    [{ externalUserId: "u", template: "" }, "template", "Not a configured template"],
    [{ externalUserId: "u", envVars: [] }, "envVars", "Must be an object"],
    [{ externalUserId: "u", envVars: { A: "x".repeat(256 * 1024) } }, "envVars", "Must have at most 256 KiB in total"],
    [{ externalUserId: "u", envVars: { A: "\0" } }, "envVars.A", "Must not contain NUL"],
    [
      { externalUserId: "u", envVars: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`A${i}`, ""])) },
      "envVars",
      "Must have at most 100 entries",
    ],
    [
      { externalUserId: "u", metadata: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`A${i}`, ""])) },
      "metadata",
      "Must have at most 50 entries",
    ],
    [{ externalUserId: "u", metadata: { ["k".repeat(65)]: "" } }, `metadata.${"k".repeat(65)}`, "A key has 1 to 64 characters and no NUL"],
    [{ externalUserId: "u", metadata: "x" }, "metadata", "Must be an object"],
    [{ externalUserId: "u", envVars: { "\n": {} } }, "envVars.\n", "Must be a string"],
    [{ externalUserId: "u", metadata: { "a\u2028b": null } }, "metadata.a\u2028b", "Must be a string"],
  ])("with one fault is refused with that field (%#)", async (body, field, message) => {
    expect(await refused(body)).toEqual({ status: 400, error: "Validation failed", details: [{ field, message }] });
  });

  test("that is not a JSON object is refused with the field `body`", async () => {
    for (const body of ["{", "[]", "3", '"x"', "\u0000"]) {
      expect(await refused(body)).toMatchObject({ status: 400, error: "Validation failed", details: [{ field: "body" }] });
    }
  });

  test("that is missing or null names the body and the required field", async () => {
    const details = [
      { field: "body", message: "Required" },
      { field: "externalUserId", message: "Required" },
    ];
    for (const body of [undefined, "", "null"]) expect(await refused(body)).toEqual({ status: 400, error: "Validation failed", details });
  });

  test("without a media type is read as JSON", async () => {
    const body = new Blob(['{"externalUserId":"u"}']);
    const headers = { authorization: `Bearer ${app.key}` };
    expect((await fetch(`${app.base}/api/b2b/sessions`, { method: "POST", headers, body })).status).toBe(201);
  });

  test("gets 415 for another media type and 413 above 1 MiB", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", "nonsense"]) {
      expect((await refused('{"externalUserId":"u"}', { "content-type": type })).status).toBe(415);
    }
    expect((await refused('{"externalUserId":"u"}', { "content-encoding": "gzip" })).status).toBe(415);
    const padded = (bytes: number) => '{"externalUserId":"u"}'.padEnd(bytes, " ");
    expect((await refused(padded(1024 * 1024 + 1))).status).toBe(413);
    expect((await refused(padded(4 * 1024 * 1024))).status).toBe(413);
    expect((await refused(padded(1024 * 1024))).status).toBe(201);
    expect((await refused('{"externalUserId":"u"}', { "content-type": "Application/JSON; charset=utf-8" })).status).toBe(201);
  });

  test("may have unknown fields and names such as __proto__", async () => {
    expect(await create(`{"externalUserId":"u","__proto__":{"template":"nope"},"constructor":1,"more":[1]}`)).toMatchObject({
      status: "running",
    });
    await create('{"externalUserId":"u","metadata":{"__proto__":"x","constructor":"y"},"envVars":{"__proto__":"x"}}');
    await create({
      externalUserId: "x".repeat(256),
      envVars: { A: "" },
      metadata: {},
      timeoutMs: 60_000,
      template: "python",
      autoStartAgent: false,
    });
  });

  test("leaves nothing behind on its connection", async () => {
    const warnings: string[] = [];
    const note = ({ name }: Error) => void warnings.push(name);
    process.on("warning", note);
    // Node warns about more than ten listeners of one event.
    for (let i = 0; i < 12; i++) await create({ externalUserId: "u" });
    process.off("warning", note);
    expect(warnings).toEqual([]);
  });
});
