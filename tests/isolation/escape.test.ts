import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openIsland, skipReason, SYSCALLS, type Island, type Sandbox } from "./sandboxes.ts";

// Hostile code in a real sandbox tries to reach the host and its neighbour. Every test fails if the attempt succeeds.
describe.skipIf(skipReason !== undefined)(`getting out of a sandbox${skipReason === undefined ? "" : `, skipped: ${skipReason}`}`, () => {
  let island: Island;
  let attacker: Sandbox;
  let neighbour: Sandbox;
  let secretFile: string;

  beforeAll(async () => {
    process.env.BERTH_TEST_SECRET = "environment-of-the-server";
    island = await openIsland();
    [attacker, neighbour] = await Promise.all([island.make(), island.make()]);
    secretFile = join(island.dataDir, "demo-api-key");
    writeFileSync(secretFile, "key-of-the-operator", { mode: 0o644 });
    await neighbour.sh("echo neighbours-secret > /workspace/secret; echo neighbours-secret > ~/secret; chmod 644 /workspace/secret");
  });
  afterAll(async () => {
    delete process.env.BERTH_TEST_SECRET;
    await island?.[Symbol.asyncDispose]();
  });

  const initOf = ({ id }: Sandbox) => Number(readFileSync(join(island.dataDir, "sandboxes", id, "init.pid"), "utf8"));

  test("the user inside has no privileges and cannot gain any", async () => {
    const { output } = await attacker.sh("id -u; grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status | tr -d '\\t'");
    expect(output).toBe(
      `1000\n${["Inh", "Prm", "Eff", "Bnd", "Amb"].map((set) => `Cap${set}:0000000000000000\n`).join("")}NoNewPrivs:1\nSeccomp:2\n`,
    );
    const gained = await attacker.python(`${SYSCALLS}
print(attempt(lambda: os.setuid(0)), attempt(lambda: os.setgid(0)), attempt(lambda: os.chroot("/tmp")), attempt(lambda: os.chown("/tmp", 0, 0)))`);
    expect(gained.output).not.toContain("OK");
    // A program with the set-user-id bit of one's own gives nothing, and those of the host have lost theirs.
    const setuid = await attacker.sh(
      "cp /usr/bin/id ./me && chmod u+s ./me && ./me -u; find /usr/bin -perm -4000 | head -1 | xargs -r -I{} sh -c '{} --help >/dev/null 2>&1'; mount | grep -cE ' (/usr|/workspace|/home/user|/tmp) .*nosuid'",
    );
    expect(setuid.output).toBe("1000\n4\n");
  });

  test("every namespace is its own", async () => {
    const kinds = ["pid", "net", "ipc", "uts", "mnt", "user", "cgroup"];
    const inside = (await attacker.sh(`readlink ${kinds.map((kind) => `/proc/self/ns/${kind}`).join(" ")}`)).output.trim().split("\n");
    const next = (await neighbour.sh(`readlink ${kinds.map((kind) => `/proc/self/ns/${kind}`).join(" ")}`)).output.trim().split("\n");
    expect(new Set([...inside, ...next]).size).toBe(2 * kinds.length);
    expect((await attacker.sh("cat /proc/self/uid_map | tr -s ' '")).output).not.toBe(
      (await neighbour.sh("cat /proc/self/uid_map | tr -s ' '")).output,
    );
  });

  test("the server's environment, and everything else of it, is out of sight", async () => {
    const { output } = await attacker.sh("cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'");
    expect(output).not.toContain("environment-of-the-server");
    expect(output).not.toContain("vitest");
    expect(output).not.toContain(neighbour.id);
  });

  test("the data folder and the host's own folders are not there", async () => {
    const paths = [
      island.dataDir,
      secretFile,
      "/root/.ssh",
      "/etc/shadow",
      "/var/lib",
      "/boot",
      "/sys/kernel",
      join(island.dataDir, "sandboxes", neighbour.id),
    ];
    const { output } = await attacker.sh(
      `for p in ${paths.join(" ")}; do ls -d $p 2>/dev/null; done; find / -maxdepth 3 -xdev -name demo-api-key 2>/dev/null`,
    );
    expect(output).toBe("");
  });

  test("no path through /proc leads out", async () => {
    const { output } = await attacker.sh(
      `for p in 1 self $$ ${process.pid} ${initOf(neighbour)}; do cat /proc/$p/root${secretFile} /proc/$p/root/workspace/secret /proc/$p/cwd/secret 2>/dev/null; done; cat /proc/1/root/../../../..${secretFile} 2>/dev/null; ls /proc/${process.pid} 2>/dev/null`,
    );
    expect(output).toBe("");
  });

  test("symbolic links and hard links lead nowhere", async () => {
    const { output } = await attacker.sh(
      `ln -s ${secretFile} a; cat a 2>/dev/null; ln -s / b; cat b${secretFile} 2>/dev/null; ln /usr/bin/env c 2>/dev/null && echo linked; ln /opt/berth/daemon.cjs d 2>/dev/null && echo linked; ln /etc/passwd e 2>/dev/null && echo linked`,
    );
    expect(output).toBe("");
  });

  test("programs and settings that all sandboxes share cannot be changed", async () => {
    const files = [
      "/usr/bin/env",
      "/opt/berth/daemon.cjs",
      "/opt/berth/bin/node",
      "/etc/passwd",
      "/etc/ld.so.cache",
      "/run/berth-egress/x",
      "/x",
      "/dev/x",
      "/proc/sys/kernel/core_pattern",
    ];
    const { output } = await attacker.sh(
      `for f in ${files.join(" ")}; do (echo x >> $f) 2>/dev/null && echo wrote $f; rm -f $f 2>/dev/null && echo removed $f; chmod 777 $f 2>/dev/null && echo changed $f; done; mv /run/berth-egress/proxy.sock /tmp 2>/dev/null && echo moved`,
    );
    expect(output.replace("removed /run/berth-egress/x\n", "").replace("removed /x\n", "").replace("removed /dev/x\n", "")).toBe("");
  });

  test("device nodes cannot be made, and the host's are not there", async () => {
    const { output } = await attacker.python(`${SYSCALLS}
import stat
for where in ("/tmp/d", "/workspace/d", "/dev/shm/d"):
    for kind in (stat.S_IFBLK, stat.S_IFCHR):
        print(attempt(lambda: os.mknod(where, kind | 0o666, os.makedev(7, 0))))
print(sorted(os.listdir("/dev")))`);
    expect(output).not.toContain("OK");
    expect(output.trim().split("\n").at(-1)).toBe(
      "['fd', 'full', 'null', 'ptmx', 'pts', 'random', 'shm', 'stderr', 'stdin', 'stdout', 'tty', 'urandom', 'zero']",
    );
  });

  test("what /proc tells of the kernel is closed", async () => {
    const files = ["kcore", "kmsg", "kallsyms", "keys", "timer_list", "sysrq-trigger", "slabinfo", "vmallocinfo", "modules", "interrupts"];
    const { output } = await attacker.sh(
      `for f in ${files.join(" ")}; do head -c 20 /proc/$f 2>/dev/null; done; (echo b > /proc/sysrq-trigger) 2>/dev/null && echo wrote; (echo 1 > /proc/sys/vm/drop_caches) 2>/dev/null && echo wrote; (echo -1000 > /proc/self/oom_score_adj) 2>/dev/null && echo wrote`,
    );
    expect(output).toBe("");
  });

  test("no namespace can be made and no mount changed", async () => {
    const { output } = await attacker.python(`${SYSCALLS}
NEW = dict(NS=0x20000, CGROUP=0x2000000, UTS=0x4000000, IPC=0x8000000, USER=0x10000000, PID=0x20000000, NET=0x40000000)
for name, flag in NEW.items():
    print("unshare", name, call(272, flag))
    print("clone", name, call(56, flag | 17, 0, 0, 0, 0))
print("clone3", call(435, 0, 0))
print("setns", call(308, os.open("/proc/1/ns/mnt", os.O_RDONLY), 0))
print("mount", call(165, b"x", b"/tmp", b"tmpfs", 0, 0))
print("remount", call(165, b"/usr", b"/usr", 0, 32 | 4096, 0))
print("umount", call(166, b"/tmp", 2))
print("pivot_root", call(155, b"/tmp", b"/tmp"))
print("open_tree", call(428, -100, b"/", 1))
print("fsopen", call(430, b"tmpfs", 0))
print("move_mount", call(429, -100, b"/tmp", -100, b"/usr", 0))
print("open_by_handle_at", call(304, 3, 0, 0))`);
    expect(output).not.toContain("OK");
    expect(output.trim().split("\n")).toHaveLength(24);
    expect(
      (
        await attacker.sh(
          "unshare -Ur true 2>&1; unshare -m true 2>&1; mount -t tmpfs x /tmp 2>&1; umount /proc 2>&1; ls /workspace > /dev/null && echo there",
        )
      ).output,
    ).toMatch(/there\n$/);
  });

  test("the kernel's larger surfaces are closed", async () => {
    const { output } = await attacker.python(`${SYSCALLS}
for name, number, args in [
  ("bpf", 321, (0, 0, 0)), ("perf_event_open", 298, (0, 0, -1, -1, 0)), ("userfaultfd", 323, (1,)), ("io_uring_setup", 425, (8, 0)),
  ("keyctl", 250, (0, -3, 1)), ("add_key", 248, (b"user", b"x", b"y", 1, -3)), ("request_key", 249, (b"user", b"x", 0, 0)),
  ("kexec_load", 246, (0, 0, 0, 0)), ("init_module", 175, (0, 0, b"")), ("finit_module", 313, (0, b"", 0)), ("reboot", 169, (0, 0, 0, 0)),
  ("process_vm_readv", 310, (1, 0, 0, 0, 0, 0)), ("pidfd_getfd", 438, (3, 0, 0)), ("syslog", 103, (3, 0, 0)), ("swapon", 167, (b"/x", 0)),
  ("settimeofday", 164, (0, 0)), ("iopl", 172, (3,)), ("personality", 135, (0x40000,)), ("acct", 163, (0,)), ("fanotify_init", 300, (0, 0)),
]: print(name, call(number, *args))
for name, family in dict(packet=17, alg=38, vsock=40, xdp=44, rds=21, tipc=30, can=29, bluetooth=31, key=15).items():
    print(name, attempt(lambda: socket.socket(family, socket.SOCK_RAW if name == "packet" else socket.SOCK_DGRAM)))
for family in (17, 38, 40, 44, 3, 9): print("upper half", call(41, 0x100000000 | family, 2, 0))
print("raw", attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)))`);
    const lines = output.trim().split("\n");
    expect(lines).toHaveLength(36);
    expect(lines.filter((line) => !/EPERM|ESOCKTNOSUPPORT/.test(line))).toEqual([]);
  });

  test("the filter cannot be walked around through the processor's other system call tables", async () => {
    // int 0x80, the 32-bit way in, and the x32 bit. Both number their calls differently.
    const thirtyTwo = await attacker.python(`
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes([0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3]))
print("survived", ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(code)))())`);
    expect(thirtyTwo.output).not.toContain("survived");
    const x32 = await attacker.python(`${SYSCALLS}
print("survived", call(0x40000000 | 39))`);
    expect(x32.output).not.toContain("survived OK");
  });

  test("processes of the host and of the neighbour cannot be signalled or traced", async () => {
    const victims = [process.pid, initOf(neighbour), initOf(attacker)];
    const { output } = await attacker.python(`${SYSCALLS}
for pid in ${JSON.stringify(victims)}:
    print(attempt(lambda: os.kill(pid, 0)), attempt(lambda: os.kill(pid, 9)), call(101, 16, pid, 0, 0), call(434, pid, 0))
print(attempt(lambda: os.kill(1, 9)))
import glob
print(len([p for p in glob.glob("/proc/[0-9]*") if b"daemon.cjs" in open(p + "/cmdline", "rb").read()]))`);
    const lines = output.trim().split("\n");
    expect(lines.slice(0, 3)).toEqual(Array.from({ length: 3 }, () => "ESRCH ESRCH ESRCH ESRCH"));
    expect(lines.at(-1)).toBe("1");
    expect(await island.driver.inspect(neighbour.id, AbortSignal.timeout(30_000))).toBe("running");
    expect(await attacker.sh("echo still here")).toMatchObject({ output: "still here\n" });
  });

  test("shared memory, semaphores and message queues do not cross", async () => {
    await neighbour.sh(
      "ipcmk -M 4096 -p 0666; ipcmk -S 1 -p 0666; ipcmk -Q -p 0666; echo secret > /dev/shm/secret; echo secret > /tmp/secret; chmod 666 /dev/shm/secret /tmp/secret",
    );
    expect((await attacker.sh("ipcs | grep -c 0x; ls /dev/shm /tmp | grep secret")).output).toBe("0\n");
  });

  test("typing into a terminal from below is refused", async () => {
    const { output } = await attacker.python(`${SYSCALLS}
import fcntl, pty, termios
master, slave = pty.openpty()
print(attempt(lambda: fcntl.ioctl(slave, termios.TIOCSTI, b"x")), attempt(lambda: fcntl.ioctl(slave, 0x541C, b"\\x02")))
# The kernel looks at the lower half of the number alone.
print(call(16, slave, 0x100005412, b"x"), call(16, slave, 0xdead00005412, b"x"))`);
    expect(output).toBe("EPERM EPERM\nEPERM EPERM\n");
  });
});
