import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { ConnectionError, createBerth } from "./index.ts";

// These tests use a fake service. tests/api/clients has the journeys, and the faults of a service, that are the same for every client.
const stack: AsyncDisposable[] = [];
afterEach(async () => {
  for (const resource of stack.splice(0)) await resource[Symbol.asyncDispose]();
});

const SESSION = { sessionId: "ses_1", sandboxId: "sbx_1", status: "running", sandboxUrl: "", createdAt: "2030-01-01T00:00:00.000Z" };
type Handler = (request: IncomingMessage, response: ServerResponse, nth: number) => void;

test("every call has its own key, and the caller's key is used unchanged", async () => {
  const { berth, requests } = await service((_request, response) => reply(response, 201, SESSION));
  await berth.sessions.create({ externalUserId: "u" });
  await berth.sessions.create({ externalUserId: "u" });
  await berth.sessions.create({ externalUserId: "u" }, { idempotencyKey: "mine" });
  const keys = requests.map((request) => request.headers["idempotency-key"]);
  expect(new Set(keys).size).toBe(3);
  expect(keys[2]).toBe("mine");
});

test("an unreachable service causes a ConnectionError", async () => {
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

test("a session prints and serializes as its data", async () => {
  const { berth } = await service((_request, response) => reply(response, 200, SESSION));
  expect(JSON.parse(JSON.stringify(await berth.sessions.get("ses_1")))).toEqual(SESSION);
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
