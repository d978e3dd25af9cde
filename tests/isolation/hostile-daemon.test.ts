import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { describeWith } from "../support/machine.ts";
import type { LinkRequest, DaemonLinks } from "../../server/daemon-link/daemon-links.ts";
import { createDaemonLinks } from "../../server/daemon-link/daemon-links.ts";
import { silentLog } from "../../server/log.ts";
import { initOf, openSandboxes, missing, type Sandboxes, type Sandbox } from "./sandboxes.ts";

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
  afterAll(async () => {
    await links?.[Symbol.asyncDispose]();
    await sandboxes?.[Symbol.asyncDispose]();
    trap?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  describe("the socket of a sandbox", () => {
    beforeAll(async () => {
      sandbox = await sandboxes.create();
    });

    test.each([
      ["a link to a socket of the host", () => `ln -s ${trapPath} /run/berth/daemon.sock`],
      ["a link through /proc", () => `ln -s /proc/1/root${trapPath} /run/berth/daemon.sock`],
      ["a FIFO", () => "mkfifo /run/berth/daemon.sock"],
      ["a file", () => "echo hello > /run/berth/daemon.sock"],
      ["a folder", () => "mkdir /run/berth/daemon.sock"],
      ["nothing", () => "true"],
    ])("%s in its place is refused at once", async (_name, replace) => {
      // The sandbox cannot be reached to put the socket back, so it does so itself when this file appears.
      const restore =
        "until [ -e restore ]; do sleep 0.02; done; cd /run/berth; rm -rf daemon.sock; mv old daemon.sock; rm /workspace/restore";
      await sandbox.sh(`mv /run/berth/daemon.sock /run/berth/old; ${replace()}; (${restore}) > /dev/null 2>&1 &`);
      const startMs = performance.now();
      await expect(sandboxes.driver.dial(sandbox.id, AbortSignal.timeout(40_000))).rejects.toMatchObject({ code: "sandbox_unreachable" });
      expect(performance.now() - startMs).toBeLessThan(20_000);
      expect(trapped).toBe(0);
      const file = `/proc/${initOf(sandboxes, sandbox)}/root/workspace/restore`;
      writeFileSync(file, "");
      await expect.poll(() => existsSync(file)).toBe(false);
    });

    test("a link that replaces it while the server connects never leads to the link's target", async () => {
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
      await sandboxes.driver.destroy(sandbox.id, AbortSignal.timeout(30_000));
    });
  });

  describe("another program behind the socket", () => {
    // Handles each connection `c` as its path says, and never answers the others.
    const PROGRAM = `
import gzip, os, socket, threading, time
os.rename("/run/berth/daemon.sock", "/run/berth/old")
server = socket.socket(socket.AF_UNIX); server.bind("/run/berth/daemon.sock"); os.chmod("/run/berth/daemon.sock", 0o666); server.listen(64)
open("/tmp/listening", "w").close()
def serve(c):
    try:
        path = c.recv(65536).split()[1]
        if path == b"/ping":
            c.sendall(b"HTTP/1.1 418 Evil\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n")
        elif path == b"/endless-headers":
            c.sendall(b"HTTP/1.1 200 OK\\r\\n")
            while True: c.sendall(b"X-More: " + b"y" * 60000 + b"\\r\\n")
        elif path == b"/slow-headers":
            for b in b"HTTP/1.1 200 OK\\r\\nX: " + b"y" * 1000: c.sendall(bytes([b])); time.sleep(0.05)
        elif path == b"/noise":
            c.sendall(os.urandom(100000))
        elif path in (b"/endless-body", b"/internal/stop"):
            c.sendall(b"HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n")
            while True: c.sendall(b"10000\\r\\n" + b"z" * 65536 + b"\\r\\n")
        elif path == b"/compressed":
            body = gzip.compress(b"\\0" * 50000000, 1)
            c.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Encoding: gzip\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body)); c.sendall(body)
        else:
            time.sleep(60)
    except OSError: pass
while True:
    c, _ = server.accept()
    threading.Thread(target=serve, args=(c,), daemon=True).start()
`;
    const get = (path: string, options: Partial<LinkRequest> = {}) => links.request(sandbox.id, { method: "GET", path, ...options });

    beforeAll(async () => {
      sandbox = await sandboxes.create();
      await sandbox.sh(
        `cat > /tmp/evil.py <<'EOF'\n${PROGRAM}\nEOF\nsetsid python3 /tmp/evil.py > /dev/null 2>&1 & while ! [ -e /tmp/listening ]; do sleep 0.01; done`,
      );
      sandboxes.links.forget(sandbox.id);
    });
    // The program runs, so a refusal in a test is the server's.
    beforeEach(async () => {
      const { status, body } = await get("/ping", { headersTimeoutMs: 20_000 });
      body.resume();
      if (status !== 418) throw new Error(`The program answered /ping with ${status} instead of 418.`);
    });

    test("endless headers are refused", async () => {
      await expect(get("/endless-headers")).rejects.toMatchObject({ code: "sandbox_unreachable" });
    });

    test("headers that arrive byte by byte are refused", async () => {
      const startMs = performance.now();
      await expect(get("/slow-headers")).rejects.toMatchObject({ code: "sandbox_unreachable" });
      // Reading all of them would take 50 s.
      expect(performance.now() - startMs).toBeLessThan(20_000);
    });

    test("a daemon that accepts a connection and never answers times out", async () => {
      await expect(get("/silence")).rejects.toMatchObject({ code: "sandbox_unreachable" });
    });

    test("bytes that are not HTTP are refused", async () => {
      await expect(get("/noise")).rejects.toMatchObject({ code: "sandbox_unreachable" });
    });

    test("an endless body uses no memory of the server while it is not read, and ends when the reader leaves", async () => {
      const response = await get("/endless-body", { headersTimeoutMs: 20_000 });
      const before = process.memoryUsage().rss;
      await sleep(500);
      expect(process.memoryUsage().rss - before).toBeLessThan(64 * MiB);
      response.body.destroy();
      await expect(links.stop(sandbox.id, AbortSignal.timeout(30_000))).rejects.toMatchObject({ code: "sandbox_unreachable" });
    });

    test("a compressed response is not decompressed", async () => {
      const response = await get("/compressed", { headersTimeoutMs: 40_000, bodyTimeoutMs: 40_000 });
      let bytes = 0;
      for await (const chunk of response.body as AsyncIterable<Buffer>) bytes += chunk.length;
      expect(bytes).toBe(Number(response.headers["content-length"]));
      expect(bytes).toBeLessThan(5 * MiB);
    });

    test("a sandbox with a hostile daemon can be paused, stays paused if its resume fails, and can be hibernated and destroyed", async () => {
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
});

// The id of the sandbox's first process, as the host sees it.
