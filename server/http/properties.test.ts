import { connect } from "node:net";
import fc from "fast-check";
import { Compile } from "typebox/compile";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CreateSession, ErrorBody, ROUTES, Session, type Route } from "@berth/contract";
import { startTestApp, type TestApp } from "./testing/test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const isError = Compile(ErrorBody);
const isSession = Compile(Session);
const isCreate = Compile(CreateSession);

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.constantFrom("", "__proto__", "constructor", "BERTH_X", "A=B", "\0", "x".repeat(600)),
);
const anything = fc.jsonValue({ maxDepth: 3 });
const mostlyValid = <T>(right: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 3, arbitrary: right as fc.Arbitrary<unknown> }, { weight: 1, arbitrary: anything as fc.Arbitrary<unknown> });
const createBody = fc.record(
  {
    externalUserId: mostlyValid(text),
    envVars: mostlyValid(fc.dictionary(text, mostlyValid(text), { maxKeys: 5 })),
    template: mostlyValid(fc.constantFrom("default", "python", "none")),
    timeoutMs: mostlyValid(fc.oneof(fc.integer({ min: 0, max: 90_000_000 }), fc.double())),
    autoStartAgent: mostlyValid(fc.boolean()),
    metadata: mostlyValid(fc.dictionary(text, mostlyValid(text), { maxKeys: 5 })),
    other: anything,
  },
  { requiredKeys: [] },
);

describe("for arbitrary input", () => {
  test("a create request yields a session or field faults, in agreement with the published schema", async () => {
    await fc.assert(
      fc.asyncProperty(createBody, async (body) => {
        const { status, json } = await app.call("POST", "/api/b2b/sessions", { body });
        expect(createViolations(JSON.parse(JSON.stringify(body)), status, json)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  test("a body of any bytes and any type gets a status below 500, and errors have the error schema", async () => {
    const routes = Object.values<Route>(ROUTES).filter(({ method }) => method !== "GET");
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...routes),
        fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.json(), fc.uint8Array({ maxLength: 200 })),
        fc.constantFrom(
          "application/json",
          "application/json; charset=utf-16",
          "text/plain",
          "application/x-www-form-urlencoded",
          "multipart/form-data",
          "nonsense",
        ),
        async ({ method, path }, body, type) => {
          const request = { method, body: body as string, headers: { "content-type": type, "x-api-key": app.key } };
          const response = await fetch(app.base + path.replaceAll(/\{\w+\}/g, "ses_00000000000000000000000000"), request);
          expect(violations(response, await response.text())).toEqual([]);
        },
      ),
      { numRuns: 300 },
    );
  });

  test("any path, query and method get a status below 500, and errors have the error schema", async () => {
    const prefix = fc.oneof(
      fc.webPath(),
      fc.constantFrom(
        "/api/b2b/sessions",
        "/api/b2b/sessions/x",
        "/api/b2b/events",
        "/api/b2b/webhooks",
        "/%ZZ",
        "//",
        "/api/b2b/../b2b",
        "/;x",
      ),
    );
    const query = fc.oneof(
      fc.webQueryParameters(),
      fc.constantFrom("limit=1&limit=2", "cursor=%00", "metadata.__proto__=x", "externalUserId=%00", "after=%FF", "status[]=x"),
    );
    const method = fc.constantFrom("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "PURGE");
    await fc.assert(
      fc.asyncProperty(method, prefix, fc.webPath(), query, fc.boolean(), async (verb, first, second, search, withKey) => {
        const response = await app.call(verb, `/${`${first}${second}?${search}`.replace(/^\/+/, "")}`, { key: withKey ? app.key : null });
        expect(violations(response, response.text, { isHead: verb === "HEAD" })).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  test("arbitrary bytes on the socket never hang the server, and errors are JSON", async () => {
    const line = fc.oneof(
      fc.string(),
      fc.constantFrom(
        "GET / HTTP/1.1",
        "POST /api/b2b/sessions HTTP/1.1",
        "Host: x",
        "Content-Length: 5",
        "Content-Length: 99999999999999999999",
        "Transfer-Encoding: chunked",
        "Transfer-Encoding: x",
        "Expect: 100-continue",
        "Connection: upgrade",
        "Upgrade: websocket",
        "X-Api-Key: \u00ff",
        "",
        "0",
        "5",
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 8 }), async (lines) => {
        const answer = await sendRaw(`${lines.join("\r\n")}\r\n\r\n`);
        expect(rawViolations(answer)).toEqual([]);
      }),
      { numRuns: 200 },
    );
    expect((await app.call("GET", "/healthz")).status).toBe(200);
  });
});

const CREATE_FIELDS = ["externalUserId", "envVars", "template", "timeoutMs", "autoStartAgent", "metadata"];

// Each of these functions lists the faults of a reply.

function createViolations(sent: unknown, status: number, json: unknown): string[] {
  const valid = isCreate.Check(sent);
  if (status === 201)
    return [isSession.Check(json) ? [] : "not a session", valid ? [] : "created from a body that does not match the schema"].flat();
  if (status !== 400 || !isError.Check(json)) return [`status ${status} ${JSON.stringify(json)}`];
  const fields = (json.details ?? []).map(({ field }) => field);
  const unknown = fields.filter((field) => !CREATE_FIELDS.includes(field.split(".")[0]!));
  // The schema does not list the templates.
  const withoutField = fields.length === 0 || (valid && fields.join() !== "template");
  return [...unknown.map((field) => `unknown field ${field}`), ...(withoutField ? ["refused without a field"] : [])];
}

function violations({ status, headers }: Pick<Response, "status" | "headers">, body: string, { isHead = false } = {}): string[] {
  const found = [status < 500 ? [] : `status ${status}`, headers.get("x-request-id")?.startsWith("req_") ? [] : "no request id"];
  if (status >= 400 && !isHead)
    found.push(
      isError.Check(JSON.parse(body)) ? [] : `not an error: ${body}`,
      /^[a-z_]+$/.test(headers.get("x-error-code") ?? "") ? [] : "no code",
    );
  return found.flat();
}

function rawViolations(answer: string): string[] {
  // The server closes a connection that does not start with a request line.
  if (answer === "") return [];
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]);
  if (!(status >= 100 && status < 500)) return [`status ${status}`];
  if (status < 400) return [];
  const [body = ""] = answer.slice(answer.indexOf("\r\n\r\n") + 4).split("HTTP/1.1 ");
  return isError.Check(JSON.parse(body)) ? [] : [`not an error: ${body}`];
}

// Half-closes after sending, so that the server sees the end of the input.
function sendRaw(bytes: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect(app.port, "127.0.0.1");
  let answer = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (answer += chunk));
  socket.on("error", () => {});
  socket.on("close", () => resolve(answer));
  socket.end(bytes);
  return promise;
}
