import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import {
  BerthError,
  ConnectionError,
  createBerth,
  FileNotFoundError,
  NotFoundError,
  QuotaError,
  RateLimitError,
  ServerError,
  SessionConflictError,
  SessionNotFoundError,
  TimeoutError,
  UnauthorizedError,
  ValidationError,
} from "./index.ts";

// These tests use a fake service that fails in specific ways. tests/ covers the real one.
const stack: AsyncDisposable[] = [];
afterEach(async () => {
  for (const resource of stack.splice(0)) await resource[Symbol.asyncDispose]();
});

const SESSION = { sessionId: "ses_1", sandboxId: "sbx_1", status: "running", sandboxUrl: "", createdAt: "2030-01-01T00:00:00.000Z" };
type Handler = (request: IncomingMessage, response: ServerResponse, nth: number) => void;

test("a create whose response is lost is retried with the same idempotency key", async () => {
  const { berth, requests } = await service((request, response, nth) =>
    nth === 0 ? request.socket.destroy() : reply(response, 201, SESSION),
  );
  const session = await berth.sessions.create({ externalUserId: "u" });
  expect(session.sessionId).toBe("ses_1");
  const keys = requests.map((request) => request.headers["idempotency-key"]);
  expect(keys).toHaveLength(2);
  expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
  expect(new Set(keys).size).toBe(1);
});

test("a response that breaks off is retried", async () => {
  const { berth, requests } = await service((_request, response, nth) => {
    if (nth > 0) return reply(response, 200, SESSION);
    response.writeHead(200, { "content-length": "100" }).write("{");
    setTimeout(() => response.destroy(), 20);
  });
  await berth.sessions.get("ses_1");
  expect(requests).toHaveLength(2);
});

test("every call has its own key, and the caller's key is used unchanged", async () => {
  const { berth, requests } = await service((_request, response) => reply(response, 201, SESSION));
  await berth.sessions.create({ externalUserId: "u" });
  await berth.sessions.create({ externalUserId: "u" });
  await berth.sessions.create({ externalUserId: "u" }, { idempotencyKey: "mine" });
  const keys = requests.map((request) => request.headers["idempotency-key"]);
  expect(new Set(keys).size).toBe(3);
  expect(keys[2]).toBe("mine");
});

test("a retry waits for Retry-After", async () => {
  const { berth } = await service((_request, response, nth) =>
    nth === 0
      ? reply(response, 429, { error: "Too many requests" }, { "retry-after": "1", "x-error-code": "rate_limited" })
      : reply(response, 200, SESSION),
  );
  const startedMs = performance.now();
  await berth.sessions.get("ses_1");
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(990);
});

test("a Retry-After above the limit is thrown instead of waited for", async () => {
  const { berth, requests } = await service((_request, response) =>
    reply(response, 429, { error: "Too many requests" }, { "retry-after": "3600" }),
  );
  await expect(berth.sessions.get("ses_1")).rejects.toMatchObject({ status: 429, retryAfterMs: 3_600_000 });
  expect(requests).toHaveLength(1);
});

test("a command is never sent twice", async () => {
  const { berth, requests, url } = await service((request, response) =>
    request.url === "/exec" ? request.socket.destroy() : reply(response, 200, { ...SESSION, sandboxUrl: url() }),
  );
  const session = await berth.sessions.get("ses_1");
  await expect(session.exec("rm -rf build")).rejects.toThrow(ConnectionError);
  expect(requests.filter((request) => request.url === "/exec")).toHaveLength(1);
});

test("the last failure is thrown after all retries", async () => {
  const { berth, requests } = await service((_request, response) =>
    reply(response, 503, { error: "No room" }, { "retry-after": "0", "x-error-code": "capacity_reached", "x-request-id": "req_1" }),
  );
  const failure: unknown = await berth.sessions.create({ externalUserId: "u" }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ServerError);
  expect(failure).toMatchObject({ code: "capacity_reached", status: 503, requestId: "req_1", message: "No room" });
  expect(requests).toHaveLength(4);
});

test("a slow service causes a TimeoutError, and an unreachable one a ConnectionError", async () => {
  const { url } = await service(() => {});
  const slow = createBerth({ baseUrl: url(), apiKey: "k", timeoutMs: 50, maxRetries: 0 });
  await expect(slow.sessions.get("ses_1")).rejects.toThrow(TimeoutError);
  const absent = createBerth({ baseUrl: "http://127.0.0.1:9", apiKey: "k", maxRetries: 0 });
  await expect(absent.sessions.get("ses_1")).rejects.toThrow(ConnectionError);
});

test("an aborted call stops immediately, even between two attempts", async () => {
  const { berth } = await service((_request, response) => reply(response, 503, { error: "later" }, { "retry-after": "30" }));
  const controller = new AbortController();
  const call = berth.sessions.get("ses_1", { signal: controller.signal });
  setTimeout(() => controller.abort(new Error("enough")), 50);
  await expect(call).rejects.toThrow("enough");
});

// Status, code in the header, body, class.
const errors: [number, string | null, object | string, typeof BerthError][] = [
  [400, "validation_failed", { error: "Validation failed", details: [{ field: "externalUserId", message: "Required" }] }, ValidationError],
  [401, "unauthorized", { error: "Unauthorized" }, UnauthorizedError],
  [404, "session_not_found", { error: "Session not found" }, SessionNotFoundError],
  [404, "not_found", { error: "Not found" }, NotFoundError],
  [404, "not_found", { error: "There is no such file", code: "not_found" }, FileNotFoundError],
  [409, "session_already_paused", { error: "Session is already paused" }, SessionConflictError],
  [409, "session_quota", { error: "The limit is reached" }, QuotaError],
  [418, null, "not even JSON", BerthError],
  [429, "rate_limited", { error: "Too many requests" }, RateLimitError],
  [500, "internal", { error: "Something went wrong on our side" }, ServerError],
];
test.each(errors)("a %i with the code %s becomes its own error class", async (status, code, body, kind) => {
  const { url } = await service((_request, response) => reply(response, status, body, code === null ? {} : { "x-error-code": code }));
  const berth = createBerth({ baseUrl: url(), apiKey: "k", maxRetries: 0 });
  const failure: unknown = await berth.sessions.get("ses_1").catch((error: unknown) => error);
  expect((failure as Error).constructor.name).toBe(kind.name);
  expect(failure).toMatchObject({ status, name: kind.name });
});

test("the message of a validation error names the fields", async () => {
  const { berth } = await service((_request, response) =>
    reply(response, 400, { error: "Validation failed", details: [{ field: "timeoutMs", message: "Too small" }] }),
  );
  await expect(berth.sessions.create({ externalUserId: "u", timeoutMs: 1 })).rejects.toThrow("Validation failed (timeoutMs: Too small)");
});

test("a list is iterated page by page, and its filters reach the service", async () => {
  const { berth, requests } = await service((request, response) => {
    const cursor = new URL(request.url ?? "", "http://x").searchParams.get("cursor");
    const page = cursor === null ? 0 : Number(cursor);
    reply(response, 200, { data: [{ ...SESSION, sessionId: `ses_${page}` }], nextCursor: page < 2 ? String(page + 1) : null });
  });
  const ids: string[] = [];
  for await (const session of berth.sessions.list({ status: "running", metadata: { plan: "pro" }, pageSize: 1 }))
    ids.push(session.sessionId);
  expect(ids).toEqual(["ses_0", "ses_1", "ses_2"]);
  expect(requests[0]?.url).toBe("/api/b2b/sessions?status=running&metadata.plan=pro&limit=1&expand=details");
});

test("the API key is sent with every call and never follows a redirect", async () => {
  const { berth, requests } = await service((_request, response) => response.writeHead(307, { location: "http://127.0.0.1:9/" }).end());
  await expect(berth.sessions.get("ses_1")).rejects.toMatchObject({ status: 307 });
  expect(requests.map((request) => request.headers.authorization)).toEqual(["Bearer k"]);
});

test("an id is encoded as a single path segment", async () => {
  const { berth, requests } = await service((_request, response) => reply(response, 200, SESSION));
  await berth.sessions.get("../keys?x=1");
  expect(requests[0]?.url).toBe("/api/b2b/sessions/..%2Fkeys%3Fx%3D1?expand=details");
});

test("a session prints and serializes as its data", async () => {
  const { berth } = await service((_request, response) => reply(response, 200, SESSION));
  expect(JSON.parse(JSON.stringify(await berth.sessions.get("ses_1")))).toEqual(SESSION);
});

test("output streams correctly wherever the chunks split", async () => {
  const { berth, url } = await service((request, response) => {
    if (request.url !== "/exec") return reply(response, 200, { ...SESSION, sandboxUrl: url() });
    const bytes = Buffer.from(
      '{"type":"stdout","data":"grüß dich\\n"}\n{"type":"stderr","data":"!"}\n{"type":"exit","code":3,"signal":null}\n',
    );
    let at = 0;
    const timer = setInterval(() => {
      response.write(bytes.subarray(at, (at += 7)));
      if (at < bytes.length) return;
      clearInterval(timer);
      response.end();
    }, 1);
  });
  const session = await berth.sessions.get("ses_1");
  const seen: string[] = [];
  const result = await session.exec("greet", { onStdout: (text) => seen.push(text) });
  expect(result).toEqual({ stdout: "grüß dich\n", stderr: "!", exitCode: 3, signal: null, timedOut: false });
  expect(seen).toEqual(["grüß dich\n"]);
});

test("a command whose response breaks off is an error", async () => {
  const { berth, url } = await service((request, response) =>
    request.url === "/exec" ? response.end('{"type":"stdout","data":"half"}\n') : reply(response, 200, { ...SESSION, sandboxUrl: url() }),
  );
  await expect((await berth.sessions.get("ses_1")).exec("long")).rejects.toThrow("before the command exited");
});

test("the agent's answer joins the pieces of its text", async () => {
  const messages = [
    { type: "conversation", conversation: { id: "c1" } },
    { type: "item", conversationId: "c1", item: { id: "i1", atMs: 1, kind: "thought", text: "hm" } },
    { type: "item", conversationId: "c1", item: { id: "i2", atMs: 2, kind: "assistant", text: "It " } },
    { type: "append", conversationId: "c1", itemId: "i2", text: "works." },
    { type: "turn", conversationId: "c1", stopReason: "end_turn" },
  ];
  const { berth, url } = await service((request, response) => {
    if (request.url !== "/agent/prompt") return reply(response, 200, { ...SESSION, sandboxUrl: url() });
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(`: hello\n\n${messages.map((message) => `data: ${JSON.stringify(message)}\n\n`).join("")}`);
  });
  const session = await berth.sessions.get("ses_1");
  expect(await session.agent.ask("does it work?")).toEqual({ text: "It works.", conversationId: "c1", stopReason: "end_turn" });
});

test("a broken stream of events continues after the last event", async () => {
  const { berth, requests } = await service((_request, response, nth) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(`id: evt_${nth}\ndata: ${JSON.stringify({ id: `evt_${nth}`, type: "session.created" })}\n\n`);
  });
  const seen: string[] = [];
  for await (const event of berth.events.stream()) if (seen.push(event.id) === 2) break;
  expect(seen).toEqual(["evt_0", "evt_1"]);
  expect(requests.map((request) => request.headers["last-event-id"])).toEqual([undefined, "evt_0"]);
});

async function service(handle: Handler) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    request.resume().on("end", () => handle(request, response, requests.length - 1));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  stack.push({
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  });
  return { berth: createBerth({ baseUrl: url(), apiKey: "k" }), requests, url };
}

function reply(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response
    .writeHead(status, { "content-type": "application/json", ...headers })
    .end(typeof body === "string" ? body : JSON.stringify(body));
}
