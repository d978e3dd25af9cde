import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { machine, testWith } from "../support/machine.ts";
import { startBerth } from "../support/servers/berth.ts";

const plain = { BERTH_DRIVER: "process", BERTH_LOG_LEVEL: "error" };

test("a server that has run out of file descriptors keeps running, and serves again when some are free", async () => {
  await using berth = await startBerth(plain, { maxFiles: 100 });
  const session = await berth.api.create();
  const { hostname, port } = new URL(berth.url);
  const sockets = Array.from({ length: 200 }, () => connect(Number(port), hostname).on("error", () => {}));
  await Promise.all(sockets.map((socket) => Promise.race([once(socket, "connect"), once(socket, "close")])));
  for (const socket of sockets) socket.destroy();
  await expect
    .poll(async () => (await berth.api.call("GET", `/api/b2b/sessions/${session.sessionId}`).catch(() => null))?.status, {
      timeout: 20_000,
    })
    .toBe(200);
  expect(await berth.api.exec(session.sandboxId, "echo on")).toMatchObject({ stdout: "on\n" });
});

// Only root can mount a small disk.
testWith(
  machine.root,
  "on a full disk creates fail with an error and leave nothing behind, and succeed when there is space again",
  async () => {
    const disk = mkdtempSync(join(tmpdir(), "berth-disk-"));
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=48m", "tmpfs", disk]);
    try {
      const dataDir = join(disk, "data");
      await using berth = await startBerth({ ...plain, BERTH_DATA_DIR: dataDir });
      const before = await berth.api.create();
      await berth.api.writeFile(before.sandboxId, "kept.txt", "kept");
      fill(join(disk, "filler"));
      for (let i = 0; i < 3; i++) {
        const answer = await berth.api.call("POST", "/api/b2b/sessions", { externalUserId: "u" });
        expect(answer.status).toBeGreaterThanOrEqual(500);
        expect(answer.body).toEqual({ error: expect.any(String) });
      }
      expect((await berth.api.call("GET", `/api/b2b/sessions/${before.sessionId}`)).status).toBe(200);
      rmSync(join(disk, "filler"));
      await expect.poll(async () => (await berth.api.call("POST", "/api/b2b/sessions", { externalUserId: "u" })).status).toBe(201);
      expect(String(await berth.api.readFile(before.sandboxId, "kept.txt"))).toBe("kept");
    } finally {
      // A process that was killed may still be ending.
      await expect.poll(() => spawnSync("umount", [disk]).status).toBe(0);
      rmSync(disk, { recursive: true });
    }
  },
);

// Uses every free byte.
function fill(file: string): void {
  for (let size = 32 * 1024 * 1024; size >= 1; size = Math.floor(size / 2))
    try {
      for (;;) writeFileSync(file, Buffer.alloc(size), { flag: "a" });
    } catch {
      // No space left for a piece of this size.
    }
}
