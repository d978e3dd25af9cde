import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith } from "../../support/machine.ts";
import { freePort } from "../../support/servers/port.ts";
import { endSsh } from "../../support/servers/ssh-client.ts";
import { openSshSession, sshMissing, type SshSession } from "./ssh-session.ts";

describeWith(sshMissing, "files and ports over SSH", () => {
  let suite: SshSession;
  beforeAll(async () => void (suite = await openSshSession()));
  afterAll(() => suite?.[Symbol.asyncDispose]());

  test("scp, sftp and rsync copy files in both directions", async () => {
    const { client, host, path, inSandbox } = suite;
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
    const { client, host, path, inSandbox } = suite;
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
    const { client, host, path, start, inSandbox } = suite;
    await using stack = new AsyncDisposableStack();
    const local = stack.adopt(
      createServer((_request, response) => response.end("from outside")),
      (server) => void server.close(),
    );
    await once(local.listen(0, "127.0.0.1"), "listening");
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
    await endSsh(forwarding.child);
    await expect.poll(async () => (await inSandbox("curl -sS http://127.0.0.1:4322/")).code).toBe(7);
    expect((await inSandbox("test -e /tmp/out.sock")).code).toBe(1);
    await inSandbox("pkill -f create[S]erver");
  });

  test("an editor installs its server through a shell, reaches it through a proxy, and finds it again after a lost connection", async () => {
    const { client, host, start, inSandbox } = suite;
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
});
