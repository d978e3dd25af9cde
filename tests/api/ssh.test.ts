import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import type { Session, SessionTokenWithSecret } from "@berth/contract";
import type { ProgramList } from "@berth/contract/daemon/programs.ts";
import { createBerth } from "../../client/index.ts";
import { describeWith, machine } from "../support/machine.ts";
import { freePort } from "../support/servers/port.ts";
import { shareBerth, type SharedBerth } from "../support/servers/shared-berth.ts";
import { openSshClient, type SshClient } from "../support/servers/ssh-client.ts";

const missing = machine.command("ssh", "openssh-client") ?? machine.command("rsync");

describeWith(missing, "Debian's own clients over SSH", () => {
  let berth: SharedBerth;
  let session: Session;
  let client: SshClient;
  let host: string;
  let local: Server;
  const children: ChildProcess[] = [];

  beforeAll(async () => {
    berth = await shareBerth();
    local = createServer((_request, response) => response.end("from outside")).listen(0, "127.0.0.1");
    await once(local, "listening");
    [client, session] = await Promise.all([openSshClient(berth), berth.api.create()]);
    host = hostOf(session);
    await client.share(host);
  });
  afterAll(async () => {
    for (const child of children) if (child.exitCode === null && child.signalCode === null && child.kill()) await once(child, "exit");
    await client[Symbol.asyncDispose]();
    local.close();
    await destroy(session);
  });

  const hostOf = ({ sessionId }: Session) => `${sessionId}.berth`;
  const destroy = ({ sessionId }: Session) => berth.api.call("DELETE", `/api/b2b/sessions/${sessionId}`);
  const change = ({ sessionId }: Session, to: "pause" | "resume") => berth.api.call("POST", `/api/b2b/sessions/${sessionId}/${to}`);
  const inSandbox = (command: string) => berth.api.exec(session.sandboxId, command);
  const path = (name: string) => join(client.folder, name);
  const start = (...args: string[]) => {
    const child = spawn("ssh", [...client.flags, ...args], { cwd: client.folder });
    children.push(child);
    const ended = once(child, "exit").then(([code]) => code as number | null);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => (output = (output + String(bytes)).slice(-10_000)));
    const says = (wanted: RegExp) => expect.poll(() => wanted.exec(output)?.[0] ?? output, { timeout: 15_000 }).toMatch(wanted);
    return { child, says, output: () => output, code: () => ended };
  };

  test("a command has its input, its output, its errors and its exit code", async () => {
    const ran = await client.run("ssh", [...client.flags, host, "cat; echo $LC_ALL $SSH_TTY; pwd; echo bad >&2; exit 7"], {
      input: "text\n",
      env: { LC_ALL: "C.UTF-8" },
    });
    expect(ran).toMatchObject({ code: 7, stdout: "text\nC.UTF-8\n/home/user\n", stderr: expect.stringContaining("bad") });
    expect((await client.ssh(host, "kill -KILL $$")).code).toBe(255);
    expect((await client.ssh(host, "no-such-program")).code).toBe(127);
  });

  test("a shell has a pseudo-terminal of the client's size, Ctrl-C reaches its programs, and the programs panel lists it", async () => {
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
    const both = start("-S", "none", host, "setsid -f sleep 998 < /dev/null > /dev/null 2>&1; yes");
    await both.says(/y\n/);
    both.child.kill();
    await both.code();
    await expect.poll(async () => (await inSandbox("pgrep -x yes")).code).toBe(1);
    expect((await inSandbox("pkill -f 'sleep 99[8]'")).code).toBe(0);
  });

  test("scp, sftp and rsync copy files in both directions", async () => {
    const content = randomBytes(4_000_000);
    writeFileSync(path("big"), content);
    expect(await client.run("scp", [...client.flags, "-q", "big", `${host}:/workspace/big`])).toMatchObject({ code: 0 });
    expect(await client.run("scp", [...client.flags, "-q", `${host}:/workspace/big`, "back"])).toMatchObject({ code: 0 });
    expect(readFileSync(path("back")).equals(content)).toBe(true);
    // The older protocol of scp, and a path below the home.
    expect(await client.run("scp", [...client.flags, "-O", "-q", "big", `${host}:~/old`])).toMatchObject({ code: 0 });
    expect((await inSandbox("cmp /workspace/big ~/old; stat -c %a ~/old")).stdout).toBe("644\n");

    const name = "Straße\\ 1";
    const batch = `mkdir d
cd d
put big ${name}
rename ${name} two
chmod 600 two
symlink two three
ls -l
get two got
rename two three
-rm no-such-file
ls
rm three
cd ..
rmdir d
-get /etc/shadow
`;
    const ran = await client.run("sftp", [...client.flags, "-q", "-b", "-", host], { input: batch });
    expect(ran.stdout).toMatch(/-rw-------\s+1 \d+\s+\d+\s+4000000 .* two/);
    expect(ran.stdout).toMatch(/lrwxrwxrwx.* three/);
    expect(ran.stderr).toMatch(/no-such-file[\s\S]*shadow/);
    expect(ran.code).toBe(0);
    expect(readFileSync(path("got")).equals(content)).toBe(true);

    mkdirSync(path("tree/sub"), { recursive: true });
    writeFileSync(path("tree/sub/one"), "1");
    const rsync = (...args: string[]) => client.run("rsync", ["-a", "-e", `ssh ${client.flags.join(" ")}`, ...args]);
    expect(await rsync("tree", `${host}:/workspace/`)).toMatchObject({ code: 0 });
    expect(await rsync(`${host}:/workspace/tree/sub/`, "copied")).toMatchObject({ code: 0 });
    expect(readFileSync(path("copied/one"), "utf8")).toBe("1");
  });

  test("git clones from the session and pushes to it", async () => {
    await inSandbox("git init -q --bare -b main /workspace/code.git");
    const author = { GIT_AUTHOR_NAME: "A", GIT_AUTHOR_EMAIL: "a@b.c", GIT_COMMITTER_NAME: "A", GIT_COMMITTER_EMAIL: "a@b.c" };
    const env = { ...author, GIT_SSH_COMMAND: `ssh ${client.flags.join(" ")}` };
    const git = (...args: string[]) => client.run("git", args, { env });
    expect(await git("clone", "-q", `${host}:/workspace/code.git`, "code")).toMatchObject({ code: 0 });
    writeFileSync(path("code/file"), "text");
    await git("-C", "code", "add", ".");
    await git("-C", "code", "commit", "-q", "-m", "first");
    expect(await git("-C", "code", "push", "-q", "origin", "HEAD:main")).toMatchObject({ code: 0 });
    expect((await inSandbox("git -C code.git log --format=%s main")).stdout).toBe("first\n");
  });

  // A web server in the sandbox, on a port and on a Unix socket.
  const SERVE = `const s=(l)=>require("http").createServer((q,r)=>r.end("from inside")).listen(l,()=>console.log("ready",l));s(4321);s("/tmp/in.sock")`;

  test("ports and Unix sockets are forwarded in both directions, and to nothing but the sandbox itself", async () => {
    const outside = (local.address() as AddressInfo).port;
    const [port, socks] = [await freePort(), await freePort()];
    const forwards = ["-L", `${port}:localhost:4321`, "-D", `127.0.0.1:${socks}`, "-R", `4322:127.0.0.1:${outside}`];
    const sockets = ["-L", `${path("l.sock")}:/tmp/in.sock`, "-R", `/tmp/out.sock:127.0.0.1:${outside}`];
    const forwarding = start("-S", "none", ...forwards, ...sockets, host, `/opt/berth/bin/node -e '${SERVE}'`);
    await forwarding.says(/ready.*\n.*ready/);
    const curl = (...args: string[]) => client.run("curl", ["-sS", "--max-time", "10", ...args]);
    expect((await curl(`http://127.0.0.1:${port}/`)).stdout).toBe("from inside");
    expect((await curl("--unix-socket", path("l.sock"), "http://x/")).stdout).toBe("from inside");
    expect((await curl("--socks5-hostname", `127.0.0.1:${socks}`, "http://localhost:4321/")).stdout).toBe("from inside");
    expect((await curl("--socks5-hostname", `127.0.0.1:${socks}`, "http://localhost:9/")).code).not.toBe(0);
    expect((await curl("--socks5-hostname", `127.0.0.1:${socks}`, `http://10.0.0.1:${outside}/`)).code).not.toBe(0);
    expect((await inSandbox("curl -sS http://127.0.0.1:4322/")).stdout).toBe("from outside");
    expect((await inSandbox("curl -sS --unix-socket /tmp/out.sock http://x/; stat -c %a /tmp/out.sock")).stdout).toBe("from outside600\n");
    forwarding.child.kill();
    await forwarding.code();
    await expect.poll(async () => (await inSandbox("curl -sS http://127.0.0.1:4322/")).code).toBe(7);
    expect((await inSandbox("test -e /tmp/out.sock")).code).toBe(1);
    await inSandbox("pkill -f create[S]erver");
  });

  test("an editor installs its server through a shell, reaches it through a proxy, and finds it again after a lost connection", async () => {
    // As Remote-SSH does: a script on the standard input of `bash`, which starts a server that goes on by itself, and says where it listens.
    const script = `mkdir -p ~/.editor-server && cd ~/.editor-server
if [ ! -e pid ] || ! kill -0 $(cat pid); then
  echo 'require("http").createServer((q,r)=>r.end("pid "+process.pid)).listen(0,"127.0.0.1",function(){console.log("port="+this.address().port+"=")})' > server.js
  nohup /opt/berth/bin/node server.js > log 2>&1 < /dev/null & echo $! > pid
fi
while ! grep -q port= log; do sleep 0.05; done
grep port= log; echo end-of-script
`;
    const connectEditor = async () => {
      const socks = await freePort();
      const editor = start("-S", "none", "-T", "-D", `127.0.0.1:${socks}`, "-o", "ConnectTimeout=15", host, "bash");
      editor.child.stdin.write(script);
      await editor.says(/end-of-script/);
      const port = /port=(\d+)=/.exec(editor.output())?.[1];
      const answer = await client.run("curl", [
        "-sS",
        "--max-time",
        "10",
        "--socks5-hostname",
        `127.0.0.1:${socks}`,
        `http://127.0.0.1:${port}/`,
      ]);
      editor.child.kill("SIGKILL");
      await editor.code();
      return answer.stdout;
    };
    const first = await connectEditor();
    expect(first).toMatch(/^pid \d+$/);
    expect(await connectEditor()).toBe(first);
    await inSandbox("kill $(cat ~/.editor-server/pid)");
  });

  const createToken = async (body: object, of = session) =>
    (await berth.api.call("POST", `/api/b2b/sessions/${of.sessionId}/tokens`, { scopes: ["ssh"], ttlMs: 60_000, ...body }))
      .body as SessionTokenWithSecret;
  // Without the key, as a person would who was given a token.
  const sshWithToken = (token: string, ...args: string[]) =>
    client.run("ssh", ["-F", configWithoutKey(), ...args], { env: { BERTH_SESSION_TOKEN: token } });
  const configWithoutKey = () => {
    const text = readFileSync(path(".ssh/berth/config"), "utf8").replace(/ --key-file \S+/, "");
    writeFileSync(path("without-key"), text);
    return path("without-key");
  };

  test("a token of the scope `ssh` opens its session and no other, names the host key, and is cut when it is revoked", async () => {
    const { token, tokenId, ssh } = await createToken({});
    expect(ssh?.hostKey).toMatch(/^ssh-ed25519 [A-Za-z0-9+/]{68}$/);
    expect(readFileSync(path(`.ssh/berth/known_hosts/${host}`), "utf8")).toBe(`${host} ${ssh?.hostKey}\n`);
    expect(await sshWithToken(token, host, "echo in")).toMatchObject({ code: 0, stdout: "in\n" });
    const { token: other, ssh: none } = await createToken({ scopes: ["exec"] });
    expect(none).toBeNull();
    expect((await sshWithToken(other, host, "true")).stderr).toContain("needs the scope ssh");
    expect((await sshWithToken(`${token}x`, host, "true")).stderr).toMatch(/401/);
    expect((await sshWithToken(token, "ses_01kan2v8r08v0x4z6b9dbfdjmp.berth", "true")).stderr).toMatch(/404/);

    const open = sshWithToken(token, host, "echo begun; sleep 997");
    await expect.poll(async () => (await inSandbox("pgrep -f 'sleep 99[7]'")).code).toBe(0);
    await berth.api.call("DELETE", `/api/b2b/sessions/${session.sessionId}/tokens/${tokenId}`);
    expect(await open).toMatchObject({ code: 255, stderr: expect.stringContaining("expired or was revoked") });
    expect((await sshWithToken(token, host, "true")).stderr).toMatch(/401/);
    await inSandbox("pkill -f 'sleep 99[7]'");
  });

  test("another host key is refused without a question, and a fork has a key of its own", async () => {
    const { ssh } = await createToken({});
    const [{ session: fork }] = (await createBerth({ apiKey: berth.key, baseUrl: berth.url }).sessions.fork(
      { sessionId: session.sessionId },
      { externalUserId: "user-1", count: 1 },
    )) as unknown as [{ session: Session }];
    const { ssh: ofFork } = await createToken({}, fork);
    expect(ofFork?.hostKey).toMatch(/^ssh-ed25519/);
    expect(ofFork?.hostKey).not.toBe(ssh?.hostKey);
    writeFileSync(path("known"), `${host} ${ofFork?.hostKey}\n`);
    const refused = await client.ssh("-S", "none", "-o", `UserKnownHostsFile=${path("known")}`, host, "true");
    expect(refused).toMatchObject({ code: 255, stderr: expect.stringContaining("Host key verification failed") });
    await destroy(fork);
  });

  test("a pause ends the connection with a sentence, and a new one wakes the session only if it may", async () => {
    const paused = await berth.api.create({ autoResume: true });
    const itsHost = hostOf(paused);
    const shell = start("-S", "none", itsHost, "echo begun; sleep 996; echo over > /workspace/over");
    await shell.says(/begun/);
    const known = readFileSync(path(`.ssh/berth/known_hosts/${itsHost}`), "utf8");
    expect((await change(paused, "pause")).status).toBe(200);
    expect(await shell.code()).toBe(255);
    expect(shell.output()).toContain("The session was paused.");
    const { ssh } = await createToken({}, paused);
    expect(ssh).toMatchObject({ hostKey: null, url: expect.stringContaining("/ssh") });

    // The command goes on: a pause does not end programs.
    const woken = await client.ssh("-S", "none", itsHost, "pgrep -f 'sleep 99[6]' > /dev/null && echo goes on");
    expect(woken).toMatchObject({ code: 0, stdout: "goes on\n" });
    expect(readFileSync(path(`.ssh/berth/known_hosts/${itsHost}`), "utf8")).toBe(known);

    await berth.api.call("PATCH", `/api/b2b/sessions/${paused.sessionId}`, { autoResume: false });
    await change(paused, "pause");
    const refused = await client.ssh("-S", "none", itsHost, "true");
    expect(refused).toMatchObject({ code: 255, stderr: expect.stringMatching(/paused.*[Rr]esume/) });
    await destroy(paused);
    expect((await client.ssh("-S", "none", itsHost, "true")).stderr).toMatch(/404|destroyed/);
  });

  test("a reader that stops does not make the daemon grow, and nothing is lost", async () => {
    await inSandbox("truncate -s 16M /workspace/zeros");
    const rss = async () => Number((await inSandbox("grep VmRSS /proc/$PPID/status")).stdout.replaceAll(/\D/g, ""));
    const before = await rss();
    const reading = spawn("ssh", [...client.flags, "-S", "none", host, "cat /workspace/zeros"], { cwd: client.folder });
    children.push(reading);
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

test("the settings of ssh are written once, and keep what is there", async () => {
  const berth = await shareBerth();
  await using client = await openSshClient(berth);
  const file = join(client.folder, ".ssh/config");
  expect(readFileSync(file, "utf8")).toBe("Include berth/config\n\n");
  writeFileSync(file, "Include berth/config\n\nHost other\n  User me\n");
  await using _again = await openSshClient(berth, client.folder);
  expect(readFileSync(file, "utf8")).toBe("Include berth/config\n\nHost other\n  User me\n");
});
