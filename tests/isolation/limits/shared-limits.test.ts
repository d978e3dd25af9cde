import { execFile, execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith, testWith } from "../../support/machine.ts";
import { needsRoot, oneUser, userForm, openSandboxes, missing, type Sandboxes, type Sandbox } from "../sandboxes.ts";
import { SYSCALLS } from "../syscalls/syscalls.ts";

const MiB = 1024 * 1024;
// Some arm64 kernels have larger pages than 4096 bytes.
const PAGE_BYTES = Number(execFileSync("getconf", ["PAGESIZE"]));

// For Python: `hold(take)` calls `take` until it fails, in a process that keeps what it got. It prints the number and the error.
const HOLD = `${SYSCALLS}
import array, fcntl, resource, signal
def must(name, *args):
    answer = call(name, *args)
    if answer != "OK": raise OSError(getattr(errno, answer), answer)
def hold(take, most=250000):
    read, write = os.pipe()
    if os.fork() == 0:
        os.close(read)
        os.setsid()
        count, why = 0, "no end"
        try:
            while count < most:
                take()
                count += 1
        except OSError as error: why = errno.errorcode[error.errno]
        os.write(write, ("%d %s" % (count, why)).encode())
        os.close(write)
        for fd in (0, 1, 2): os.close(fd)
        signal.pause()
    os.close(write)
    print(open(read).read())
near, far = socket.socketpair()
near.setblocking(False)
def send_descriptors():
    near.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * 250))])
resource.setrlimit(resource.RLIMIT_MEMLOCK, (1 << 22, 1 << 22))
def lock_shared_memory():
    segment = libc.shmget(0, 1 << 20, 0o1600)
    libc.shmat(segment, None, 0)
    answer = libc.shmctl(segment, 11, None)
    error = ctypes.get_errno()
    # It goes with the last process that has it.
    libc.shmctl(segment, 0, None)
    if answer < 0: raise OSError(error, "")
`;

interface Limit {
  // A Python function without arguments.
  take: string;
  // The number that another sandbox and the host must still get.
  some: number;
  // The most that a sandbox may get.
  most: () => number;
  // The error for one more.
  refusal: string;
}

const sysctl = (name: string) => Number(readFileSync(`/proc/sys/${name}`, "utf8"));

// The kernel counts these for the whole machine, or for a user and the creator of that user's namespace.
const LIMITS: Record<string, Limit> = {
  "pseudo-terminals": { take: `lambda: os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)`, some: 30, most: () => 64, refusal: "ENOSPC" },
  "inotify instances": {
    take: `lambda: must("inotify_init1", 0)`,
    some: 5,
    most: () => sysctl("fs/inotify/max_user_instances"),
    refusal: "EMFILE",
  },
  timers: {
    take: `lambda: must("timer_create", 1, 0, ctypes.byref(ctypes.c_int()))`,
    some: 1000,
    most: () => 16_384,
    refusal: "EAGAIN",
  },
  "POSIX message queues": {
    // It is released when it is closed.
    take: `lambda: (must("mq_open", b"berth-test", os.O_CREAT | os.O_RDWR, 0o600, 0), must("mq_unlink", b"berth-test"))`,
    // Without root, a quarter of one user's limit.
    some: userForm ? 2 : 5,
    most: () => 10,
    refusal: "EMFILE",
  },
  "descriptors in flight": { take: "send_descriptors", some: 1, most: () => 16_384 / 250 + 1, refusal: "ETOOMANYREFS" },
  "locked shared memory": { take: "lock_shared_memory", some: 2, most: () => 4, refusal: "ENOMEM" },
  "pages in pipes": {
    take: `lambda: fcntl.fcntl(os.pipe()[1], 1031, ${MiB})`,
    some: 5,
    most: () => sysctl("fs/pipe-user-pages-soft"),
    refusal: "EPERM",
  },
};

// The kernel counts these for each user of the host, and not for each user namespace.
const PER_USER = new Set(["descriptors in flight", "pages in pipes"]);

describeWith(missing, "limits that all sandboxes share", () => {
  let sandboxes: Sandboxes;
  let attacker: Sandbox;
  let neighbour: Sandbox;

  beforeAll(async () => {
    sandboxes = await openSandboxes();
    [attacker, neighbour] = await Promise.all([sandboxes.create({ pids: 64 }), sandboxes.create()]);
  });
  afterAll(() => sandboxes?.[Symbol.asyncDispose]());

  const release = () => attacker.sh("pkill -KILL -x python3; while pgrep -x python3 > /dev/null; do :; done");

  for (const [name, limit] of Object.entries(LIMITS)) {
    const needs = PER_USER.has(name) ? oneUser : undefined;
    testWith(needs, `a sandbox that takes as many ${name} as it can leaves enough to others and to the host`, async () => {
      const some = `${HOLD}\ntake = ${limit.take}\nprint(attempt(lambda: [take() for _ in range(${limit.some})]))`;
      try {
        const { output } = await attacker.python(`${HOLD}\nhold(${limit.take})`);
        const [count, why] = output.trim().split(" ");
        expect(why).toBe(limit.refusal);
        expect(Number(count)).toBeGreaterThan(0);
        expect(Number(count)).toBeLessThanOrEqual(limit.most());
        expect((await neighbour.python(some)).output).toBe("OK\n");
        expect(await onHost(some)).toBe("OK\n");
      } finally {
        await release();
      }
    });
  }

  test("all processes of a sandbox together open no more than a quarter of the machine's files", async () => {
    try {
      const { output } = await attacker.python(`${HOLD}
for _ in range(40): hold(lambda: os.open("/dev/null", 0))`);
      const counts = output
        .trim()
        .split("\n")
        .map((line) => Number(line.replace(" EMFILE", "")));
      expect(counts).toHaveLength(40);
      expect(counts.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(Math.max(sysctl("fs/file-max") / 4, 64 * 1024));
      expect((await neighbour.python(`${HOLD}\nprint(attempt(lambda: os.open("/dev/null", 0)))`)).output).toBe("OK\n");
    } finally {
      await release();
    }
  });

  testWith(needsRoot, "socket buffers are bounded or count as the sandbox's memory", async () => {
    const before = { buffers: socketBufferBytes(), memory: await memoryOf(attacker) };
    try {
      const { output } = await attacker.python(`${HOLD}
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(500)
held = []
def fill():
    near = socket.create_connection(listener.getsockname())
    near.setblocking(False)
    held.extend([near, listener.accept()[0]])
    try:
        while True: near.send(bytes(65536))
    except BlockingIOError: pass
hold(fill, 200)`);
      expect(output).toMatch(/^200 no end/);
      // Other processes of this machine have sockets too, but their buffers are far smaller than those of 200 connections.
      const uncounted = socketBufferBytes() - before.buffers - Math.max(0, (await memoryOf(attacker)) - before.memory);
      expect(uncounted).toBeLessThan(256 * MiB);
    } finally {
      await release();
    }
  });

  test("asynchronous I/O, which has a machine-wide limit, is reported as not supported", async () => {
    const { output } = await attacker.python(`${SYSCALLS}\nprint(call("io_setup", 1, ctypes.byref(ctypes.c_ulong(0))))`);
    expect(output).toBe("ENOSYS\n");
  });

  test("socket filters, which share one region of kernel memory, cannot be attached", async () => {
    const { output } = await attacker.python(`${SYSCALLS}
program = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0xffff))
filter = struct.pack("HxxxxxxP", 1, ctypes.addressof(program))
with socket.socket(socket.AF_UNIX) as s:
    for option in (26, 50, 51, 52): print(call("setsockopt", s.fileno(), 1, option, filter, len(filter)))
    print(call("setsockopt", s.fileno(), 1, 2, struct.pack("i", 1), 4))
print(call("prctl", 22, 2, filter), call("seccomp", 1, 0, filter))`);
    expect(output).toBe("EPERM\nEPERM\nEPERM\nEPERM\nOK\nEINVAL ENOSYS\n");
  });

  test("huge pages, which an operator may have reserved for other programs, are refused", async () => {
    const { output } = await attacker.python(`${SYSCALLS}
import mmap
print(attempt(lambda: mmap.mmap(-1, 1 << 21, flags=0x40022)), call("memfd_create", b"x", 4), call("memfd_create", b"x", 0))`);
    expect(output).toBe("ENOMEM EINVAL OK\n");
  });

  test("connections are not tracked by the firewall", async () => {
    await attacker.python(`import socket
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
socket.create_connection(listener.getsockname())`);
    const init = readFileSync(`${sandboxes.dataDir}/sandboxes/${attacker.id}/init.pid`, "utf8");
    expect(
      await onHost(`import os\npath = "/proc/${init}/net/nf_conntrack"\nprint(open(path).read() if os.path.exists(path) else "")`),
    ).toBe("\n");
  });

  const memoryOf = async (sandbox: Sandbox) => (await sandboxes.driver.stats(sandbox.id, AbortSignal.timeout(30_000))).memoryBytes ?? 0;
});

// Runs a Python program on the host as root.
const onHost = (program: string) =>
  new Promise<string>((resolve, reject) => {
    const child = execFile("/usr/bin/python3", ["-"], (error, stdout) => (error ? reject(error) : resolve(stdout)));
    child.stdin?.end(program);
  });

// The buffers of all TCP and UDP sockets of the machine, in every network namespace.
function socketBufferBytes(): number {
  const pages = [...readFileSync("/proc/net/sockstat", "utf8").matchAll(/^(?:TCP|UDP): .*\bmem (\d+)/gm)].map(([, count]) => Number(count));
  return pages.reduce((sum, count) => sum + count, 0) * PAGE_BYTES;
}
