import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { createServer } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { listenInFolder, SOCKET_NAME } from "./socket-listener.ts";

// Several, because the order in which the threads of Node's pool open and close files varies.
const PROXIES = 40;

async function listen(parent: string, name: string, restMs: number) {
  let exceed = () => {};
  const flood = { restMs, take: () => true, onExceeded: (listener: () => void) => void (exceed = listener) };
  const listening = await listenInFolder({ proxy: createServer(), flood, serve: () => {} }, parent, name, 8);
  return { exceed: () => exceed(), path: join(parent, name, SOCKET_NAME), [Symbol.asyncDispose]: () => listening[Symbol.asyncDispose]() };
}

test("a proxy that is closed while it opens its socket again never listens in another folder", async () => {
  const parent = mkdtempSync(join(tmpdir(), "berth-egress-"));
  const elsewhere = join(parent, "elsewhere");
  mkdirSync(elsewhere);
  const closed = await Promise.all(Array.from({ length: PROXIES }, (_, index) => listen(parent, `closed-${index}`, 1)));
  for (const { exceed } of closed) exceed();
  // The timers of the proxies are older, so the proxies have begun to open their sockets.
  await sleep(1);
  await Promise.all(closed.map((proxy) => proxy[Symbol.asyncDispose]()));
  // The kernel gives out the numbers of the closed folders' descriptors again.
  const handles = await Promise.all(Array.from({ length: 2 * PROXIES }, () => open(elsewhere)));
  await using other = await listen(parent, "other", 20);
  other.exceed();
  expect(existsSync(other.path)).toBe(false);
  await expect.poll(() => existsSync(other.path)).toBe(true);
  expect(readdirSync(elsewhere)).toEqual([]);
  for (const handle of handles) await handle.close();
  rmSync(parent, { recursive: true });
});

test("a socket that was deleted comes back", async () => {
  const parent = mkdtempSync(join(tmpdir(), "berth-egress-"));
  await using proxy = await listen(parent, "one", 1);
  for (let round = 0; round < 3; round++) {
    rmSync(proxy.path);
    await expect.poll(() => connects(proxy.path)).toBe(true);
  }
  rmSync(parent, { recursive: true });
});

const connects = (path: string) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(path);
    socket.once("error", () => resolve(false));
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
  });
