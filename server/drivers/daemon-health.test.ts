import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { dialSocketFile } from "./host/dial-socket.ts";
import { awaitDaemon, daemonAnswers } from "./daemon-health.ts";

// Asks a program that answers the request of its only connection like this.
async function ask(answer: (socket: Socket) => void, signal = new AbortController().signal): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), "berth-health-"));
  const path = join(folder, "daemon.sock");
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => answer(socket));
  });
  server.listen(path);
  await once(server, "listening");
  try {
    return await daemonAnswers((bounded) => dialSocketFile(path, bounded), signal);
  } finally {
    server.close();
    rmSync(folder, { recursive: true });
  }
}

test.each([
  ["200", true, ["HTTP/1.1 200 OK\r\n\r\n"]],
  ["401, because it demands a token", true, ["HTTP/1.1 401 Unauthorized\r\n"]],
  ["500", false, ["HTTP/1.1 500 Internal Server Error\r\n\r\n"]],
  ["something else than HTTP", false, ["x".repeat(100_000)]],
  ["nothing", false, []],
])("a daemon that answers %s", async (_name, healthy, texts) => {
  expect(
    await ask((socket) => {
      for (const text of texts) socket.write(text);
      socket.end();
    }),
  ).toBe(healthy);
});

test("a status line in pieces is put together", async () => {
  expect(
    await ask((socket) => {
      socket.setNoDelay();
      socket.write("HTTP/1.");
      setImmediate(() => socket.write("1 200 OK\r\n"));
    }),
  ).toBe(true);
});

test("an abort ends the wait for an answer", async () => {
  const abort = new AbortController();
  expect(await ask(() => abort.abort(), abort.signal)).toBe(false);
});

test("a daemon is asked when its socket exists, and not before", async () => {
  const folder = mkdtempSync(join(tmpdir(), "berth-health-"));
  const socket = join(folder, "daemon.sock");
  let asked = 0;
  let looks = 0;
  const server = createServer((connection) => void connection.end("HTTP/1.1 200 OK\r\n\r\n"));
  const dial = (signal: AbortSignal) => {
    asked++;
    return dialSocketFile(socket, signal);
  };
  // It starts to listen after the second look.
  const alive = () => {
    if (++looks === 2) server.listen(socket);
    return true;
  };
  await awaitDaemon({ dial, alive, timeoutMs: 10_000, socket }, new AbortController().signal);
  expect(asked).toBe(1);
  expect(looks).toBeGreaterThanOrEqual(2);
  server.close();
  rmSync(folder, { recursive: true });
});

test("a link in place of the socket is not followed, whatever it points to", async () => {
  const folder = mkdtempSync(join(tmpdir(), "berth-health-"));
  const socket = join(folder, "daemon.sock");
  symlinkSync("/no/such/path", socket);
  let asked = 0;
  const dial = (signal: AbortSignal) => {
    asked++;
    return dialSocketFile(socket, signal);
  };
  const waiting = awaitDaemon({ dial, alive: () => asked < 3, timeoutMs: 10_000, socket }, new AbortController().signal);
  await expect(waiting).rejects.toMatchObject({ code: "sandbox_failed" });
  rmSync(folder, { recursive: true });
});
