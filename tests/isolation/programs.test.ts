import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith, installed, machine, testWith } from "../support/machine.ts";
import { openSandboxes, missing, type Sandboxes, type Sandbox } from "./sandboxes.ts";

// These programs use more system calls than most, so they fail if the filter is too strict.
describeWith(missing, "ordinary programs in a sandbox", () => {
  let sandboxes: Sandboxes;
  let sandbox: Sandbox;

  beforeAll(async () => {
    sandboxes = await openSandboxes();
    sandbox = await sandboxes.create();
  });
  afterAll(() => sandboxes?.[Symbol.asyncDispose]());

  testWith(machine.chromium, "a browser renders a page", async () => {
    const { output } = await sandbox.sh(
      `${installed.chromium} --headless --no-sandbox --disable-gpu --dump-dom 'data:text/html,<p id=x></p><script>x.textContent = 6 * 7</script>' 2> /dev/null`,
    );
    expect(output).toContain('<p id="x">42</p>');
  });

  test("Node has threads, processes, sockets, watchers and its own network interfaces", async () => {
    await sandbox.sh(`cat > program.mjs <<'END'
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { watch, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { networkInterfaces } from "node:os";
import { Worker } from "node:worker_threads";
const [answer] = await once(new Worker("require('node:worker_threads').parentPort.postMessage(6 * 7)", { eval: true }), "message");
const server = createServer((request, response) => response.end("served")).listen(0, "127.0.0.1");
await once(server, "listening");
const page = await (await fetch("http://127.0.0.1:" + server.address().port)).text();
server.close();
const watcher = watch(".");
const changed = once(watcher, "change");
writeFileSync("file", "");
await changed;
watcher.close();
console.log(answer, page, execFileSync("echo", ["run"]).toString().trim(), Object.keys(networkInterfaces()).join());
END`);
    expect((await sandbox.sh("/opt/berth/bin/node program.mjs")).output).toBe("42 served run lo\n");
  });

  test("Python has threads, processes, shared memory, databases and terminals", async () => {
    const { output } = await sandbox.python(`
import asyncio, multiprocessing, os, pty, sqlite3, subprocess, threading
from multiprocessing import shared_memory
done = []
thread = threading.Thread(target=lambda: done.append("thread"))
thread.start()
thread.join()
with multiprocessing.Pool(2) as pool: done.append(sum(pool.map(abs, [-1, 2, -3])))
block = shared_memory.SharedMemory(create=True, size=4096)
block.close()
block.unlink()
database = sqlite3.connect("/workspace/data.db")
database.execute("pragma journal_mode = wal")
database.execute("create table t (x)")
database.execute("insert into t values (7)")
database.commit()
done.append(database.execute("select x from t").fetchone()[0])
async def later(): return (await (await asyncio.create_subprocess_exec("echo", "sub", stdout=subprocess.PIPE)).communicate())[0].decode().strip()
done.append(asyncio.run(later()))
near, far = pty.openpty()
done.append(os.isatty(far))
print(*done)`);
    expect(output).toBe("thread 6 7 sub True\n");
  });

  test("a debugger traces its own child", async () => {
    const { output } = await sandbox.python(`
import ctypes, os, signal
libc = ctypes.CDLL(None)
child = os.fork()
if child == 0:
    libc.ptrace(0, 0, 0, 0)
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(5)
_, status = os.waitpid(child, 0)
stopped = os.WIFSTOPPED(status)
libc.ptrace(7, child, 0, 0)
_, status = os.waitpid(child, 0)
print(stopped, os.WEXITSTATUS(status))`);
    expect(output).toBe("True 5\n");
  });
});
