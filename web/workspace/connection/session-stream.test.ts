import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import type { WorkspaceSession } from "@berth/contract/workspace/workspace.ts";
import { createBackoff } from "./backoff.ts";
import { followSession } from "./session-stream.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

const session = (status: WorkspaceSession["status"], generation: number) =>
  ({ status, generation, sessionId: "ses_1", sandboxId: "sbx_1" }) as WorkspaceSession;

async function serve(handle: (attempt: number, response: ServerResponse, request: IncomingMessage) => void): Promise<string> {
  let attempt = 0;
  const server = createServer((request, response) => handle(attempt++, response, request)).listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(() => {
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;

function follow(url: string, silenceMs?: number) {
  const received: string[] = [];
  const end = Promise.withResolvers<string>();
  const stream = followSession({
    url,
    backoff: createBackoff({ firstMs: 1, random: () => 0 }),
    onSession: ({ status, generation }) => received.push(`${status} ${generation}`),
    onDisconnected: () => received.push("disconnected"),
    onSignedOut: () => end.resolve("signed out"),
    onGone: () => end.resolve("gone"),
    ...(silenceMs === undefined ? {} : { silenceMs }),
  });
  cleanups.push(async () => stream[Symbol.dispose]());
  return { received, end: end.promise };
}

test("it reports every change, reconnects after a disconnect, and ends with the session", async () => {
  const url = await serve((attempt, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (attempt === 0) return void response.write(data(session("running", 1)), () => response.destroy());
    response.write(`: still here\n\n${data(session("paused", 2))}${data(session("destroyed", 3))}`);
  });
  const { received, end } = follow(url);
  expect(await end).toBe("gone");
  expect(received).toEqual(["running 1", "disconnected", "paused 2", "destroyed 3"]);
});

test("it stops and reports a sign-out when the cookie is rejected", async () => {
  const url = await serve((_attempt, response) => response.writeHead(401).end());
  expect(await follow(url).end).toBe("signed out");
});

test("a silent stream counts as disconnected", async () => {
  const url = await serve((attempt, response) => {
    response.writeHead(200);
    if (attempt === 0) return void response.write(data(session("running", 1)));
    response.end(data(session("destroyed", 2)));
  });
  const { received, end } = follow(url, 1000);
  await end;
  expect(received).toEqual(["running 1", "disconnected", "destroyed 2"]);
});

test("a stream whose network is gone counts as disconnected within 15 seconds", async () => {
  vi.useFakeTimers();
  cleanups.push(async () => vi.useRealTimers());
  const disconnected = vi.fn<() => void>();
  const send: typeof fetch = (_url, init) =>
    new Promise((_resolve, reject) => init?.signal?.addEventListener("abort", () => reject(new Error("aborted"))));
  const ignore = () => {};
  using _stream = followSession({ url: "", send, onSession: ignore, onDisconnected: disconnected, onSignedOut: ignore, onGone: ignore });
  await vi.advanceTimersByTimeAsync(15_000);
  expect(disconnected).toHaveBeenCalled();
});
