import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import type { ProgramList } from "@berth/contract/daemon/programs.ts";
import { describeWith } from "../../support/machine.ts";
import { endSsh } from "../../support/servers/ssh-client.ts";
import { openSshSession, sshMissing, type SshSession } from "./ssh-session.ts";

describeWith(sshMissing, "programs over SSH", () => {
  let suite: SshSession;
  beforeAll(async () => void (suite = await openSshSession()));
  afterAll(() => suite?.[Symbol.asyncDispose]());

  test("a command has its input, its output, its errors and its exit code", async () => {
    const { client, host } = suite;
    const ran = await client.run("ssh", [...client.flags, host, "cat; echo $LC_ALL $SSH_TTY; pwd; echo bad >&2; exit 7"], {
      input: "text\n",
      env: { LC_ALL: "C.UTF-8" },
    });
    expect(ran).toMatchObject({ code: 7, stdout: "text\nC.UTF-8\n/home/user\n", stderr: expect.stringContaining("bad") });
    expect((await client.ssh(host, "kill -KILL $$")).code).toBe(255);
    expect((await client.ssh(host, "no-such-program")).code).toBe(127);
  });

  test("a shell has a pseudo-terminal of the client's size, Ctrl-C reaches its programs, and the programs panel lists it", async () => {
    const { berth, session, host, start, inSandbox } = suite;
    const shell = start("-tt", host);
    await shell.says(/\$ $/);
    shell.child.stdin.write("stty rows 30 cols 100; stty size; pwd; tty | cut -c1-8\n");
    await shell.says(/30 100[\s\S]*\/workspace[\s\S]*\/dev\/pts/);
    const { programs } = (await berth.api.call("GET", `/sandboxes/${session.sandboxId}/programs`)).body as ProgramList;
    expect(programs).toContainEqual(expect.objectContaining({ kind: "command", title: "ssh" }));
    shell.child.stdin.write("sleep 1000\n");
    await expect.poll(async () => (await inSandbox("pgrep -x sleep")).code).toBe(0);
    shell.child.stdin.write("\x03");
    await expect.poll(async () => (await inSandbox("pgrep -x sleep")).code).toBe(1);
    shell.child.stdin.write("exit 5\n");
    expect(await shell.code()).toBe(5);
  });

  test("a program ends when its client is gone, and one in the background goes on", async () => {
    const { host, start, inSandbox } = suite;
    const both = start("-S", "none", host, "setsid -f sleep 998 < /dev/null > /dev/null 2>&1; yes");
    await both.says(/y\n/);
    await endSsh(both.child);
    await expect.poll(async () => (await inSandbox("pgrep -x yes")).code).toBe(1);
    expect((await inSandbox("pkill -f 'sleep 99[8]'")).code).toBe(0);
  });

  test("a reader that stops does not make the daemon grow, and nothing is lost", async () => {
    const { host, spawn, inSandbox } = suite;
    await inSandbox("truncate -s 16M /workspace/zeros");
    const rss = async () => Number((await inSandbox("grep VmRSS /proc/$PPID/status")).stdout.replaceAll(/\D/g, ""));
    const before = await rss();
    const reading = spawn("-S", "none", host, "cat /workspace/zeros");
    let received = 0;
    await once(reading.stdout, "readable");
    // Nothing is read until the daemon has sent all that it can.
    const sent = async () => Number((await inSandbox("cat /proc/$(pgrep -x cat)/fdinfo/3 | head -1")).stdout.replaceAll(/\D/g, ""));
    let last = -1;
    await expect
      .poll(
        async () => {
          const now = await sent();
          const hasStopped = now === last && now > 0;
          last = now;
          return hasStopped;
        },
        { timeout: 15_000, interval: 300 },
      )
      .toBe(true);
    expect(last).toBeLessThan(12_000_000);
    expect((await rss()) - before).toBeLessThan(60_000);
    reading.stdout.on("data", (bytes: Buffer) => (received += bytes.length));
    await once(reading, "exit");
    await expect.poll(() => received).toBe(16 * 1024 * 1024);
  });

  test("bytes that are no SSH end that connection only", async () => {
    const { berth, client, host, createToken } = suite;
    const { ssh, token } = await createToken({});
    const ident = Buffer.from("SSH-2.0-x\r\n");
    for (const bytes of [
      randomBytes(200_000),
      Buffer.concat([ident, randomBytes(200_000)]),
      Buffer.concat([ident, Buffer.alloc(100_000)]),
    ]) {
      const socket = new WebSocket(`${berth.url.replace("http", "ws")}${new URL(ssh!.url).pathname}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      await once(socket, "open");
      const closed = once(socket, "close");
      socket.send(bytes);
      await closed;
    }
    expect((await client.ssh(host, "echo well")).stdout).toBe("well\n");
  });
});
