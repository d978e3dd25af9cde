import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { describeWith } from "../support/machine.ts";
import type { LinkRequest, DaemonLinks } from "../../server/daemon-link/daemon-links.ts";
import { createDaemonLinks } from "../../server/daemon-link/daemon-links.ts";
import { silentLog } from "../../server/log.ts";
import { openSandboxes, missing, type Sandboxes, type Sandbox } from "./sandboxes.ts";

const MiB = 1024 * 1024;

// Hostile code can replace the daemon behind the control socket. The server must not connect elsewhere, hang or run out of
// memory.
describeWith(missing, "a hostile daemon", () => {
  let sandboxes: Sandboxes;
  let sandbox: Sandbox;
  let links: DaemonLinks;
  let trap: Server;
  let trapPath: string;
  let folder: string;
  let trapped = 0;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "berth-trap-"));
    trapPath = join(folder, "s");
    trap = createServer((socket) => {
      trapped++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => trap.listen(trapPath, resolve));
    sandboxes = await openSandboxes();
    links = createDaemonLinks({
      driver: sandboxes.driver,
      tokenOf: () => "x",
      log: silentLog,
      headersTimeoutMs: 700,
      dialTimeoutMs: 5_000,
    });
  });
  beforeEach(async () => {
    sandbox = await sandboxes.create();
  });
  afterEach(async () => {
    await sandboxes.driver.destroy(sandbox.id, AbortSignal.timeout(30_000));
  });
  afterAll(async () => {
    await links?.[Symbol.asyncDispose]();
    await sandboxes?.[Symbol.asyncDispose]();
    trap?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const get = (options: Partial<LinkRequest> = {}) => links.request(sandbox.id, { method: "GET", path: "/health", ...options });
  // Replaces the daemon with a Python program that handles each connection `c`.
  async function impersonate(answer: string): Promise<void> {
    const program = `
import os, socket, threading, time
os.rename("/run/berth/daemon.sock", "/run/berth/old")
server = socket.socket(socket.AF_UNIX); server.bind("/run/berth/daemon.sock"); server.listen(64)
open("/tmp/listening", "w").close()
def serve(c):
    try:
        if b"/ping" in c.recv(65536): c.sendall(b"HTTP/1.1 418 Evil\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n"); return
        ${answer}
    except OSError: pass
while True:
    c, _ = server.accept()
    threading.Thread(target=serve, args=(c,), daemon=True).start()
`;
    await sandbox.sh(
      `cat > /tmp/evil.py <<'EOF'\n${program}\nEOF\nsetsid python3 /tmp/evil.py > /dev/null 2>&1 & while ! [ -e /tmp/listening ]; do sleep 0.01; done`,
    );
    sandboxes.links.forget(sandbox.id);
    const { status, body } = await get({ path: "/ping", headersTimeoutMs: 20_000 });
    body.resume();
    expect(status).toBe(418);
  }

  test.each([
    ["a link to a socket of the host", () => `ln -s ${trapPath} /run/berth/daemon.sock`],
    ["a link through /proc", () => `ln -s /proc/1/root${trapPath} /run/berth/daemon.sock`],
    ["a FIFO", () => "mkfifo /run/berth/daemon.sock"],
    ["a file", () => "echo hello > /run/berth/daemon.sock"],
    ["a folder", () => "mkdir /run/berth/daemon.sock"],
    ["nothing", () => "true"],
  ])("%s in place of the socket is refused at once", async (_name, replace) => {
    await sandbox.sh(`mv /run/berth/daemon.sock /run/berth/old; ${replace()}`);
    const startMs = performance.now();
    await expect(sandboxes.driver.dial(sandbox.id, AbortSignal.timeout(40_000))).rejects.toMatchObject({ code: "sandbox_unreachable" });
    expect(performance.now() - startMs).toBeLessThan(20_000);
    expect(trapped).toBe(0);
  });

  test("a socket that is replaced by a link while the server connects never leads to the link's target", async () => {
    await sandbox.sh(`cat > /tmp/swap.py <<'EOF'
import os
os.link("/run/berth/daemon.sock", "/run/berth/keep")
while True:
    os.symlink("${trapPath}", "/run/berth/new"); os.rename("/run/berth/new", "/run/berth/daemon.sock")
    os.link("/run/berth/keep", "/run/berth/new"); os.rename("/run/berth/new", "/run/berth/daemon.sock")
EOF
setsid python3 /tmp/swap.py > /dev/null 2>&1 & sleep 0.2`);
    const outcomes = { reached: 0, refused: 0 };
    for (let round = 0; round < 400; round++) {
      const socket = await sandboxes.driver.dial(sandbox.id, AbortSignal.timeout(5_000)).catch(() => undefined);
      outcomes[socket ? "reached" : "refused"]++;
      socket?.destroy();
    }
    expect(trapped).toBe(0);
    expect(outcomes.reached + outcomes.refused).toBe(400);
  });

  test("endless headers are refused", async () => {
    await impersonate(`c.sendall(b"HTTP/1.1 200 OK\\r\\n")
        while True: c.sendall(b"X-More: " + b"y" * 60000 + b"\\r\\n")`);
    await expect(get()).rejects.toMatchObject({ code: "sandbox_unreachable" });
  });

  test("headers that arrive byte by byte are refused", async () => {
    await impersonate(`for b in b"HTTP/1.1 200 OK\\r\\nX: " + b"y" * 1000: c.sendall(bytes([b])); time.sleep(0.05)`);
    const startMs = performance.now();
    await expect(get()).rejects.toMatchObject({ code: "sandbox_unreachable" });
    // Reading all of them would take 50 s.
    expect(performance.now() - startMs).toBeLessThan(20_000);
  });

  test("a daemon that accepts a connection and never answers times out", async () => {
    await impersonate("time.sleep(60)");
    await expect(get()).rejects.toMatchObject({ code: "sandbox_unreachable" });
  });

  test("bytes that are not HTTP are refused", async () => {
    await impersonate(`c.sendall(os.urandom(100000))`);
    await expect(get()).rejects.toMatchObject({ code: "sandbox_unreachable" });
  });

  test("an endless body uses no memory of the server while it is not read, and ends when the reader leaves", async () => {
    await impersonate(`c.sendall(b"HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n")
        while True: c.sendall(b"10000\\r\\n" + b"z" * 65536 + b"\\r\\n")`);
    const answer = await get({ headersTimeoutMs: 20_000 });
    const before = process.memoryUsage().rss;
    await sleep(500);
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * MiB);
    answer.body.destroy();
    await expect(links.stop(sandbox.id, AbortSignal.timeout(30_000))).rejects.toMatchObject({ code: "sandbox_unreachable" });
  });

  test("a compressed response is not decompressed", async () => {
    await impersonate(`import gzip
        body = gzip.compress(b"\\0" * 200000000, 1)
        c.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Encoding: gzip\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body)); c.sendall(body)`);
    const answer = await get({ headersTimeoutMs: 40_000, bodyTimeoutMs: 40_000 });
    let bytes = 0;
    for await (const chunk of answer.body as AsyncIterable<Buffer>) bytes += chunk.length;
    expect(bytes).toBe(Number(answer.headers["content-length"]));
    expect(bytes).toBeLessThan(5 * MiB);
  });

  test("a sandbox with a hostile daemon can be paused, stays paused if its resume fails, and can be hibernated and destroyed", async () => {
    await impersonate("time.sleep(60)");
    await sandboxes.driver.pause(sandbox.id, AbortSignal.timeout(30_000));
    expect(await sandboxes.driver.inspect(sandbox.id, AbortSignal.timeout(30_000))).toBe("frozen");
    await expect(sandboxes.driver.resume(sandbox.spec, AbortSignal.timeout(500))).rejects.toMatchObject({ name: "TimeoutError" });
    expect(await sandboxes.driver.inspect(sandbox.id, AbortSignal.timeout(30_000))).toBe("frozen");
    await sandboxes.driver.hibernate(sandbox.id, AbortSignal.timeout(30_000));
    expect(await sandboxes.driver.inspect(sandbox.id, AbortSignal.timeout(30_000))).toBe("stopped");
    await sandboxes.driver.resume(sandbox.spec, AbortSignal.timeout(30_000));
    expect(await sandbox.sh("echo honest again")).toMatchObject({ output: "honest again\n" });
  });
});
