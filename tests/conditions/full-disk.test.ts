import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Session } from "@berth/contract";
import { describeWith, machine } from "../support/machine.ts";
import { startBerth, type Berth } from "../support/servers/berth.ts";
import { runCli } from "../support/servers/cli.ts";
import { mountSmallDisk, type SmallDisk } from "../support/small-disk.ts";

const MiB = 2 ** 20;
const FULL = { status: 507, code: "server_disk_full" };
const PAUSED = { status: 409, code: "session_paused" };

// The disk of the host runs full under sandboxes that write, and has space again later. Nothing is restarted, and everything that was
// acknowledged is there afterwards.
describeWith([machine.root, await machine.oci()], "a host whose disk runs full", () => {
  let disk: SmallDisk;
  let berth: Berth;
  beforeAll(async () => {
    disk = mountSmallDisk(512);
    berth = await startBerth({
      BERTH_DRIVER: "oci",
      BERTH_DATA_DIR: join(disk.folder, "data"),
      // Paused sessions release their disks at once, so that a resume reads what really is in the image.
      BERTH_HIBERNATE_AFTER: "0",
      // A warm sandbox that cannot be finished on the full disk gives back the space that it has taken.
      BERTH_POOL_SIZE: "0",
    });
  });
  afterEach(free);
  afterAll(async () => {
    await berth?.[Symbol.asyncDispose]();
    await disk?.[Symbol.asyncDispose]();
  });

  const call = async (method: string, path: string, body?: unknown) => {
    const { status, headers, body: answer } = await berth.api.call(method, path, body);
    return { status, code: headers.get("x-error-code"), body: answer as Record<string, unknown> };
  };
  const create = (source: object) => call("POST", "/api/b2b/sessions", { externalUserId: "u", ...source });
  const at = ({ sessionId }: Session, action = "") => `/api/b2b/sessions/${sessionId}${action}`;
  const read = async (session: Session) => (await call("GET", at(session, "?expand=details"))).body;
  const destroy = async (session: Session) => expect(await call("DELETE", at(session))).toMatchObject({ status: 200 });
  const exec = (session: Session, command: string) => call("POST", `/sandboxes/${session.sandboxId}/exec`, { command });
  const upload = async (session: Session) => {
    const url = `${berth.url}/sandboxes/${session.sandboxId}/files/content?path=uploaded.txt`;
    const response = await fetch(url, { method: "PUT", headers: { authorization: `Bearer ${berth.key}` }, body: "uploaded" });
    return { status: response.status, code: response.headers.get("x-error-code"), text: await response.text() };
  };
  const resume = (session: Session) => expect.poll(() => call("POST", at(session, "/resume"))).toMatchObject({ status: 200 });
  const imageOf = ({ sandboxId }: Session) => join(berth.dataDir, "sandboxes", sandboxId, "volume.img");
  const mountOf = ({ sandboxId }: Session) => join(berth.dataDir, "sandboxes", sandboxId, "volume");
  const flush = (session: Session) => spawnSync("sync", ["-f", mountOf(session)]).status;

  async function free(): Promise<void> {
    disk.free();
    await expect.poll(async () => (await call("GET", "/readyz")).body).toEqual({ status: "ready" });
  }

  // Ends all processes and unmounts the disk.
  async function hibernate(session: Session): Promise<void> {
    expect(await call("POST", at(session, "/pause"))).toMatchObject({ status: 200 });
    await expect.poll(() => readFileSync("/proc/self/mountinfo", "utf8").includes(session.sandboxId)).toBe(false);
  }

  // Writes one file after the other until it is stopped, and returns the hashes of those that were acknowledged.
  function startWriter(session: Session) {
    const written = new Map<string, string>();
    let isStopped = false;
    const writing = (async () => {
      for (let i = 0; !isStopped; i++) {
        const { code } = await berth.api.exec(session.sandboxId, `yes ${i} | head -n 50000 > ${i}.txt`).catch(() => ({ code: null }));
        if (code === 0) written.set(`${i}.txt`, createHash("sha256").update(`${i}\n`.repeat(50_000)).digest("hex"));
        else await delay(20);
      }
    })();
    const stop = async () => {
      isStopped = true;
      await writing;
    };
    return { written, stop, [Symbol.asyncDispose]: stop };
  }

  test("every call says so, sessions wait, and afterwards no acknowledged byte is missing", async () => {
    const [writing, waking, unwanted] = [
      await berth.api.create(),
      await berth.api.create({ externalUserId: "ann", autoResume: true }),
      await berth.api.create({ externalUserId: "bob" }),
    ];
    const { body: snapshot } = await call("POST", at(writing, "/snapshots"), { name: "before" });
    await using writer = startWriter(writing);
    await expect.poll(() => writer.written.size).toBeGreaterThan(3);

    // The kernel commits every five seconds. A commit between the last free byte and the pause can lose writes (docs/deploy.md), so the
    // disk runs full right after one.
    expect(flush(writing)).toBe(0);
    disk.fill();
    for (const session of [writing, waking, unwanted])
      await expect.poll(() => read(session)).toMatchObject({ status: "paused", stopReason: "disk_full" });
    await writer.stop();
    // The server has released its reserve, and another program takes that too.
    disk.fill();
    expect(disk.freeBytes()).toBeLessThan(MiB);
    // The kernel has nothing of them left to write.
    expect([writing, waking, unwanted].map(flush)).toEqual([0, 0, 0]);

    expect(await call("GET", "/readyz")).toMatchObject({ status: 200, body: { status: "degraded", reasons: ["disk_full"] } });
    const { stdout } = await runCli(berth, "doctor");
    expect(stdout).toContain("The disk is full, so running sessions are paused and nothing is created or resumed.");
    expect(String((await berth.api.call("GET", "/metrics")).body)).toContain('berth_degraded{reason="disk_full"} 1');

    expect(await create({})).toMatchObject(FULL);
    expect(await create({ source: { snapshotId: snapshot["id"] } })).toMatchObject(FULL);
    expect(await create({ source: { sessionId: writing.sessionId } })).toMatchObject(FULL);
    expect(await call("POST", at(writing, "/snapshots"), { name: "x" })).toMatchObject(FULL);
    expect(await call("POST", at(writing, "/resume"))).toMatchObject(FULL);
    expect(await call("POST", at(writing, "/pause"))).toMatchObject({ status: 409, code: "session_already_paused" });
    expect(await upload(writing)).toMatchObject(PAUSED);
    expect(await exec(writing, "echo x > y")).toMatchObject(PAUSED);
    expect(await upload(waking)).toMatchObject(FULL);
    expect(await exec(waking, "echo x > y")).toMatchObject(FULL);
    expect(await call("PATCH", at(writing), { metadata: { was: "full" } })).toMatchObject({ status: 200 });
    expect(await call("POST", at(writing, "/launch-url"))).toMatchObject({ status: 200 });
    expect(await call("GET", "/api/b2b/sessions")).toMatchObject({ status: 200 });
    // The disk of a sandbox misses a write, which the kernel reports only to the next one.
    writeFileSync(join(mountOf(waking), "late"), Buffer.alloc(2 * MiB));
    expect(flush(waking)).toBe(1);
    await destroy(unwanted);

    await free();
    for (const session of [writing, waking]) await expect.poll(() => read(session)).toMatchObject({ status: "running", stopReason: null });
    expect(await read(writing)).toMatchObject({ metadata: { was: "full" } });
    for (const session of [writing, waking]) expect(await upload(session)).toMatchObject({ status: 201 });
    await destroy(await berth.api.create({ externalUserId: "new" }));
    expect(await call("POST", at(writing, "/snapshots"), { name: "after" })).toMatchObject({ status: 201 });

    await hibernate(writing);
    await resume(writing);
    const sums = (await berth.api.exec(writing.sandboxId, "sha256sum *.txt")).stdout.trim().split("\n");
    const found = new Map(sums.map((line) => line.split(/\s+/).toReversed() as [string, string]));
    expect(Object.fromEntries([...writer.written].filter(([name, hash]) => found.get(name) !== hash))).toEqual({});
    for (const session of [writing, waking]) await destroy(session);
  });

  test("a sandbox that fills the disk itself is paused before that, and goes on when there is space", async () => {
    const hungry = await berth.api.create();
    disk.fill(100 * MiB);
    expect(await exec(hungry, "(yes | head -c 120M > big; sync; echo $? > done) > /dev/null 2>&1 &")).toMatchObject({ status: 200 });
    await expect.poll(() => read(hungry)).toMatchObject({ status: "paused", stopReason: "disk_full" });
    expect(disk.freeBytes()).toBeGreaterThan(0);
    await free();
    await expect.poll(() => read(hungry)).toMatchObject({ status: "running" });
    await expect.poll(async () => String(await berth.api.readFile(hungry.sandboxId, "done"))).toBe("0\n");
    await hibernate(hungry);
    await resume(hungry);
    expect((await berth.api.exec(hungry.sandboxId, "yes | head -c 120M | cmp - big && echo same")).stdout).toBe("same\n");
    await destroy(hungry);
  });

  test("a disk that has turned read-only is noticed, and a resume repairs it", async () => {
    const failing = await berth.api.create();
    await berth.api.writeFile(failing.sandboxId, "kept.txt", "kept");
    await berth.api.exec(failing.sandboxId, "sync");
    writeFileSync(`/sys/fs/ext4/${loopDeviceOf(imageOf(failing))}/trigger_fs_error`, "1");
    expect(await upload(failing)).toMatchObject({ status: 507, code: "disk_read_only" });
    await expect.poll(() => read(failing)).toMatchObject({ status: "paused", stopReason: "disk_failed" });
    await resume(failing);
    expect(await upload(failing)).toMatchObject({ status: 201 });
    expect(String(await berth.api.readFile(failing.sandboxId, "kept.txt"))).toBe("kept");
    await destroy(failing);
  });

  test("a session whose disk is missing stays paused, and no other disk takes its place", async () => {
    const lost = await berth.api.create();
    await berth.api.writeFile(lost.sandboxId, "kept.txt", "kept");
    await hibernate(lost);
    const image = imageOf(lost);
    renameSync(image, `${image}.elsewhere`);
    await expect.poll(() => call("POST", at(lost, "/resume"))).toMatchObject({ status: 500, code: "disk_missing" });
    expect(await read(lost)).toMatchObject({ status: "paused" });
    expect(existsSync(image)).toBe(false);
    renameSync(`${image}.elsewhere`, image);
    await resume(lost);
    expect(String(await berth.api.readFile(lost.sandboxId, "kept.txt"))).toBe("kept");
    await destroy(lost);
  });
});

function loopDeviceOf(image: string): string {
  const name = readdirSync("/sys/block").find((device) => {
    const file = `/sys/block/${device}/loop/backing_file`;
    return existsSync(file) && readFileSync(file, "utf8").trim() === image;
  });
  if (name === undefined) throw new Error(`${image} is attached to no loop device`);
  return name;
}
