import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith } from "../../support/machine.ts";
import { needsRoot, openSandboxes, missing, type Sandboxes, type Sandbox } from "../sandboxes.ts";
import { SYSCALLS } from "../syscalls/syscalls.ts";

const MiB = 1024 * 1024;

// Kernel memory on behalf of a sandbox counts against the sandbox's memory limit.
interface Holding {
  program: string;
  atLeastBytes: number;
}

const HOLDINGS: Record<string, Holding> = {
  "watches of epoll": {
    program: `
import select
ends = [os.pipe()[0] for _ in range(200)]
polls = [select.epoll() for _ in range(400)]
for poll in polls:
    for end in ends: poll.register(end, 1)`,
    atLeastBytes: 8 * MiB,
  },
  "messages of System V": {
    program: `
for _ in range(1000):
    queue = libc.msgget(0, 0o1600)
    for _ in range(2): assert libc.msgsnd(queue, struct.pack("q", 1) + bytes(8000), 8000, 0) == 0`,
    atLeastBytes: 15 * MiB,
  },
  "content of pipes": {
    program: `
import fcntl
pipes = [os.pipe() for _ in range(32)]
for _, end in pipes:
    fcntl.fcntl(end, 1031, 1 << 20)
    os.write(end, bytes(1 << 20))`,
    atLeastBytes: 30 * MiB,
  },
  "content of Unix sockets": {
    program: `
pairs = [socket.socketpair() for _ in range(200)]
for near, _ in pairs:
    near.setblocking(False)
    try:
        while True: near.send(bytes(8192))
    except BlockingIOError: pass`,
    atLeastBytes: 20 * MiB,
  },
  timers: {
    program: `
for _ in range(15000): assert call("timer_create", 1, 0, ctypes.byref(ctypes.c_int())) == "OK"`,
    atLeastBytes: 3 * MiB,
  },
  "inotify watches and the names of files": {
    program: `
notifier = libc.inotify_init1(0)
os.mkdir("/tmp/watched")
for number in range(20000):
    path = b"/tmp/watched/%d" % number
    os.close(os.open(path, os.O_CREAT))
    assert libc.inotify_add_watch(notifier, path, 2) > 0`,
    atLeastBytes: 15 * MiB,
  },
};

describeWith([...missing, needsRoot], "the kernel's memory", () => {
  let sandboxes: Sandboxes;

  beforeAll(async () => {
    sandboxes = await openSandboxes();
  });
  afterAll(() => sandboxes?.[Symbol.asyncDispose]());

  const memoryOf = async ({ id }: Sandbox) => (await sandboxes.driver.stats(id, AbortSignal.timeout(30_000))).memoryBytes ?? 0;
  const until = (file: string) => `while [ ! -e /tmp/${file} ] && pgrep -x python3 > /dev/null; do sleep 0.02; done; cat /tmp/said`;

  test.each(Object.entries(HOLDINGS))("%s: counts as the memory of the sandbox", async (_name, { program, atLeastBytes }) => {
    const holder = await sandboxes.create();
    // The program waits before it allocates, and again while it holds its allocations.
    await holder.sh(`cat > /tmp/program <<'END'
${SYSCALLS}
import signal, time
open("/tmp/started", "w").close()
while not os.path.exists("/tmp/go"): time.sleep(0.02)
${program}
open("/tmp/ready", "w").close()
signal.pause()
END
python3 /tmp/program > /tmp/said 2>&1 & ${until("started")}`);
    const before = await memoryOf(holder);
    const { output } = await holder.sh(`touch /tmp/go; ${until("ready")}`);
    expect(output).toBe("");
    expect((await memoryOf(holder)) - before).toBeGreaterThan(atLeastBytes);
    await sandboxes.driver.destroy(holder.id, AbortSignal.timeout(30_000));
  });
});
