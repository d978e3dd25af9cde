import { once } from "node:events";
import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { machine, testWith } from "../support/machine.ts";
import { startBerth } from "../support/servers/berth.ts";
import { mountSmallDisk } from "../support/small-disk.ts";

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
  "on a full disk creates are refused with 507 and leave nothing behind, and succeed when there is space again",
  async () => {
    await using disk = mountSmallDisk(128);
    const dataDir = join(disk.folder, "data");
    await using berth = await startBerth({ ...plain, BERTH_DATA_DIR: dataDir });
    const before = await berth.api.create();
    await berth.api.writeFile(before.sandboxId, "kept.txt", "kept");
    disk.fill();
    await expect.poll(async () => (await berth.api.call("GET", "/readyz")).body).toMatchObject({ status: "degraded" });
    for (let i = 0; i < 3; i++) {
      const response = await berth.api.call("POST", "/api/b2b/sessions", { externalUserId: "u" });
      expect({ status: response.status, code: response.headers.get("x-error-code") }).toEqual({ status: 507, code: "server_disk_full" });
      expect(response.body).toEqual({ error: expect.any(String) });
    }
    expect(readdirSync(join(dataDir, "sandboxes"))).toEqual([before.sandboxId]);
    // A plain process gets the error of the full disk itself, so its session is not paused.
    expect((await berth.api.call("GET", `/api/b2b/sessions/${before.sessionId}`)).body).toMatchObject({ status: "running" });
    disk.free();
    await expect.poll(async () => (await berth.api.call("POST", "/api/b2b/sessions", { externalUserId: "u" })).status).toBe(201);
    expect(String(await berth.api.readFile(before.sandboxId, "kept.txt"))).toBe("kept");
  },
);
