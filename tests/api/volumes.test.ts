import { beforeAll, expect, test } from "vitest";
import { createBerth, type Berth as Client, type Session } from "../../client/index.ts";
import { describeWith, machine } from "../support/machine.ts";
import { daemonRuntime } from "../support/runtime.ts";
import { shareBerth } from "../support/servers/shared-berth.ts";

describeWith(await machine.oci(), "volumes", () => {
  let berth: Client;
  let other: Client;

  beforeAll(async () => {
    await daemonRuntime();
    [berth, other] = [await connect(), await connect()];
  });

  // Connects as a new partner.
  async function connect(): Promise<Client> {
    const { url, key } = await shareBerth();
    return createBerth({ baseUrl: url, apiKey: key });
  }

  const create = (volumes: Session["volumes"], client = berth) =>
    client.sessions.create({ externalUserId: "ada", autoStartAgent: false, volumes: volumes ?? [] });

  test("a session fills a volume, later ones read it, and nothing but its end releases it", async () => {
    const volume = await berth.volumes.create({ name: "cache", sizeMb: 32 });
    const mount = { name: "cache", path: "/mnt/cache" };
    const writer = await create([{ ...mount, mode: "rw" }]);
    expect((await writer.exec("mkdir -m 700 /mnt/cache/a && echo 1 > /mnt/cache/a/file && ls -ld /mnt/cache/a")).stdout).toMatch(
      /^drwx------ 2 user user/,
    );
    expect((await writer.refresh()).volumes).toEqual([{ ...mount, mode: "rw" }]);
    await expect(create([{ ...mount, mode: "rw" }])).rejects.toMatchObject({
      status: 409,
      message: expect.stringContaining(writer.sessionId),
    });

    const reader = await create([{ name: "cache", path: "/home/user/.cache/tool", mode: "ro" }]);
    expect((await reader.exec("cat ~/.cache/tool/a/file; touch ~/.cache/mine && stat -c %U ~/.cache")).stdout).toBe("1\nuser\n");
    const usedBy = [
      { sessionId: reader.sessionId, mode: "ro" },
      { sessionId: writer.sessionId, mode: "rw" },
    ];
    const uses = (await berth.volumes.get(volume.volumeId)).usedBy;
    expect(uses).toHaveLength(2);
    expect(uses).toEqual(expect.arrayContaining(usedBy));

    await writer.pause();
    await expect(create([{ ...mount, mode: "rw" }])).rejects.toMatchObject({ status: 409 });
    await expect(berth.volumes.delete(volume.volumeId)).rejects.toMatchObject({ status: 409 });
    await writer.destroy();
    const next = await create([{ ...mount, mode: "rw" }]);
    expect(
      (await next.exec("cat /mnt/cache/a/file; dd if=/dev/zero of=/mnt/cache/big bs=1M count=64 2>&1 | head -1; rm /mnt/cache/big")).stdout,
    ).toMatch(/^1\n.*No space left/);
    await Promise.all([next.destroy(), reader.destroy()]);
    await berth.volumes.delete(volume.volumeId);
    expect(await berth.volumes.list()).toEqual([]);
  });

  test("a volume that is mounted read-only stays so, whatever the code in the sandbox tries", async () => {
    const { volumeId } = await berth.volumes.create({ name: "dataset", sizeMb: 32 });
    const writer = await create([{ name: "dataset", path: "/data/set", mode: "rw" }]);
    await writer.exec("cp /usr/bin/id /data/set/id && chmod 4755 /data/set/id && echo original > /data/set/file");
    await writer.destroy();
    const reader = await create([{ name: "dataset", path: "/data/set", mode: "ro" }]);
    const attempts = [
      "echo changed > /data/set/file",
      "touch /data/set/new /data/new",
      "rm -f /data/set/file",
      "chmod 777 /data/set",
      "mount -o remount,rw /data/set",
      "mount -o remount,bind,rw /data/set",
      "unshare -Urm sh -c 'mount -o remount,bind,rw /data/set && echo changed > /data/set/file'",
      "unshare -Urm sh -c 'mount --bind /data/set /tmp && mount -o remount,bind,rw /tmp && echo changed > /tmp/file'",
      "unshare -Urm sh -c 'umount /data/set'",
      "mknod /data/set/null c 1 3",
    ];
    for (const attempt of attempts) expect([attempt, (await reader.exec(attempt)).exitCode]).not.toEqual([attempt, 0]);
    expect((await reader.exec("cat /data/set/file; ls /data/set; grep ' /data/set ' /proc/self/mounts | cut -d' ' -f4")).stdout).toMatch(
      /^original\nfile\nid\nro,nosuid,nodev/,
    );
    await reader.destroy();
    await berth.volumes.delete(volumeId);
  });

  test("another partner's volume can be neither named nor found", async () => {
    const { volumeId } = await berth.volumes.create({ name: "private" });
    await expect(create([{ name: "private", path: "/mnt/p", mode: "ro" }], other)).rejects.toMatchObject({
      status: 400,
      details: [{ field: "volumes.0.name" }],
    });
    await expect(other.volumes.get(volumeId)).rejects.toMatchObject({ status: 404 });
    await expect(other.volumes.delete(volumeId)).rejects.toMatchObject({ status: 404 });
    expect(await other.volumes.list()).toEqual([]);
    const same = await other.volumes.create({ name: "private" });
    expect(same.volumeId).not.toBe(volumeId);
    await expect(berth.volumes.create({ name: "private" })).rejects.toMatchObject({ status: 409 });
    await Promise.all([other.volumes.delete(same.volumeId), berth.volumes.delete(volumeId)]);
  });

  test("a path over the system, the workspace or another volume is refused with the name of its field", async () => {
    for (const path of ["mnt/a", "/mnt", "/usr/local", "/workspace/a", "/mnt/../etc", "/home/user/.berth/agent", "/home/user", "/mnt/a b"])
      await expect(create([{ name: "a", path, mode: "ro" }])).rejects.toMatchObject({
        status: 400,
        details: [{ field: "volumes.0.path" }],
      });
    const nested = [
      { name: "a", path: "/mnt/a", mode: "ro" as const },
      { name: "b", path: "/mnt/a/b", mode: "ro" as const },
    ];
    await expect(create(nested)).rejects.toMatchObject({ status: 400, details: [{ field: "volumes.1.path" }] });
  });
});
