import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith, testWith } from "../support/machine.ts";
import { oneUser, readOnlyRoot, initOf, openSandboxes, missing, type Sandboxes, type Sandbox } from "./sandboxes.ts";
import { refusedWith, SYSCALLS, type CallName } from "./syscalls/syscalls.ts";

// Hostile code in a real sandbox tries to reach the host and a neighbour. A test fails if an attempt succeeds.
describeWith(missing, "escaping from a sandbox", () => {
  let sandboxes: Sandboxes;
  let attacker: Sandbox;
  let neighbour: Sandbox;
  let secretFile: string;

  beforeAll(async () => {
    process.env.BERTH_TEST_SECRET = "environment-of-the-server";
    sandboxes = await openSandboxes();
    [attacker, neighbour] = await Promise.all([sandboxes.create(), sandboxes.create()]);
    secretFile = join(sandboxes.dataDir, "demo-api-key");
    writeFileSync(secretFile, "key-of-the-operator", { mode: 0o644 });
    await neighbour.sh("echo neighbours-secret > /workspace/secret; echo neighbours-secret > ~/secret; chmod 644 /workspace/secret");
  });
  afterAll(async () => {
    delete process.env.BERTH_TEST_SECRET;
    await sandboxes?.[Symbol.asyncDispose]();
  });

  testWith([oneUser, readOnlyRoot], "the user inside has no privileges and cannot gain any", async () => {
    const { output } = await attacker.sh("id -u; grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status | tr -d '\\t'");
    expect(output).toBe(
      `1000\n${["Inh", "Prm", "Eff", "Bnd", "Amb"].map((set) => `Cap${set}:0000000000000000\n`).join("")}NoNewPrivs:1\nSeccomp:2\n`,
    );
    const gained = await attacker.python(`${SYSCALLS}
print(attempt(lambda: os.setuid(0)), attempt(lambda: os.setgid(0)), attempt(lambda: os.chroot("/tmp")), attempt(lambda: os.chown("/tmp", 0, 0)))`);
    expect(gained.output).not.toContain("OK");
    // A set-user-id program of the sandbox's user gains nothing, and the host's programs have lost that bit.
    const setuid = await attacker.sh(
      "cp /usr/bin/id ./me && chmod u+s ./me && ./me -u; find /usr/bin -perm -4000 | head -1 | xargs -r -I{} sh -c '{} --help >/dev/null 2>&1'; mount | grep -cE ' (/usr|/workspace|/home/user|/tmp) .*nosuid'",
    );
    expect(setuid.output).toBe("1000\n4\n");
  });

  testWith(oneUser, "the sandbox has its own namespace of every kind", async () => {
    const kinds = ["pid", "net", "ipc", "uts", "mnt", "user", "cgroup"];
    const inside = (await attacker.sh(`readlink ${kinds.map((kind) => `/proc/self/ns/${kind}`).join(" ")}`)).output.trim().split("\n");
    const next = (await neighbour.sh(`readlink ${kinds.map((kind) => `/proc/self/ns/${kind}`).join(" ")}`)).output.trim().split("\n");
    expect(new Set([...inside, ...next]).size).toBe(2 * kinds.length);
    expect((await attacker.sh("cat /proc/self/uid_map | tr -s ' '")).output).not.toBe(
      (await neighbour.sh("cat /proc/self/uid_map | tr -s ' '")).output,
    );
  });

  test("the server's environment and processes are not visible", async () => {
    const { output } = await attacker.sh("cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'");
    expect(output).not.toContain("environment-of-the-server");
    expect(output).not.toContain("vitest");
    expect(output).not.toContain(neighbour.id);
  });

  testWith(readOnlyRoot, "the data folder and the host's folders are not visible", async () => {
    const paths = [
      sandboxes.dataDir,
      secretFile,
      "/root/.ssh",
      "/etc/shadow",
      "/var/lib",
      "/boot",
      "/sys/kernel",
      join(sandboxes.dataDir, "sandboxes", neighbour.id),
    ];
    const { output } = await attacker.sh(
      `for p in ${paths.join(" ")}; do ls -d $p 2>/dev/null; done; find / -maxdepth 3 -xdev -name demo-api-key 2>/dev/null`,
    );
    expect(output).toBe("");
  });

  test("no path through /proc leads to the host", async () => {
    const { output } = await attacker.sh(
      `for p in 1 self $$ ${process.pid} ${initOf(sandboxes, neighbour)}; do cat /proc/$p/root${secretFile} /proc/$p/root/workspace/secret /proc/$p/cwd/secret 2>/dev/null; done; cat /proc/1/root/../../../..${secretFile} 2>/dev/null; ls /proc/${process.pid} 2>/dev/null`,
    );
    expect(output).toBe("");
  });

  test("symbolic links and hard links do not reach the host", async () => {
    const { output } = await attacker.sh(
      `ln -s ${secretFile} a; cat a 2>/dev/null; ln -s / b; cat b${secretFile} 2>/dev/null; ln /usr/bin/env c 2>/dev/null && echo linked; ln /opt/berth/daemon.cjs d 2>/dev/null && echo linked; ln /etc/passwd e 2>/dev/null && echo linked`,
    );
    expect(output).toBe("");
  });

  testWith([oneUser, readOnlyRoot], "programs and settings that all sandboxes share cannot be changed", async () => {
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

  test("device nodes cannot be created, and the host's devices are not visible", async () => {
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

  test("the kernel's files in /proc cannot be read", async () => {
    const files = ["kcore", "kmsg", "kallsyms", "keys", "timer_list", "sysrq-trigger", "slabinfo", "vmallocinfo", "modules", "interrupts"];
    const { output } = await attacker.sh(
      `for f in ${files.join(" ")}; do head -c 20 /proc/$f 2>/dev/null; done; (echo b > /proc/sysrq-trigger) 2>/dev/null && echo wrote; (echo 1 > /proc/sys/vm/drop_caches) 2>/dev/null && echo wrote; (echo -1000 > /proc/self/oom_score_adj) 2>/dev/null && echo wrote`,
    );
    expect(output).toBe("");
  });

  test("namespaces cannot be created and mounts cannot be changed", async () => {
    const { output } = await attacker.python(`${SYSCALLS}
NEW = dict(NS=0x20000, CGROUP=0x2000000, UTS=0x4000000, IPC=0x8000000, USER=0x10000000, PID=0x20000000, NET=0x40000000)
for name, flag in NEW.items():
    print("unshare", name, call("unshare", flag))
    print("clone", name, call("clone", flag | 17, 0, 0, 0, 0))
print("setns", call("setns", os.open("/proc/1/ns/mnt", os.O_RDONLY), 0))
print("mount", call("mount", b"x", b"/tmp", b"tmpfs", 0, 0))
print("remount", call("mount", b"/usr", b"/usr", 0, 32 | 4096, 0))
print("umount", call("umount2", b"/tmp", 2))
print("pivot_root", call("pivot_root", b"/tmp", b"/tmp"))
print("open_tree", call("open_tree", -100, b"/", 1))
print("fsopen", call("fsopen", b"tmpfs", 0))
print("move_mount", call("move_mount", -100, b"/tmp", -100, b"/usr", 0))
print("open_by_handle_at", call("open_by_handle_at", 3, 0, 0))
print("clone3", call("clone3", 0, 0))`);
    const lines = output.trim().split("\n");
    expect(lines).toHaveLength(24);
    expect(lines.pop()).toBe("clone3 ENOSYS");
    expect(lines.filter((line) => !line.endsWith(" EPERM"))).toEqual([]);
    expect(
      (
        await attacker.sh(
          "unshare -Ur true 2>&1; unshare -m true 2>&1; mount -t tmpfs x /tmp 2>&1; umount /proc 2>&1; ls /workspace > /dev/null && echo there",
        )
      ).output,
    ).toMatch(/there\n$/);
  });

  test("the kernel's larger attack surfaces are refused", async () => {
    const attempts: [CallName, string][] = [
      ["bpf", "0, 0, 0"],
      ["perf_event_open", "0, 0, -1, -1, 0"],
      ["userfaultfd", "1"],
      ["io_uring_setup", "8, 0"],
      ["keyctl", "0, -3, 1"],
      ["add_key", 'b"user", b"x", b"y", 1, -3'],
      ["request_key", 'b"user", b"x", 0, 0'],
      ["kexec_load", "0, 0, 0, 0"],
      ["init_module", '0, 0, b""'],
      ["finit_module", '0, b"", 0'],
      ["reboot", "0, 0, 0, 0"],
      ["process_vm_readv", "1, 0, 0, 0, 0, 0"],
      ["pidfd_getfd", "3, 0, 0"],
      ["syslog", "3, 0, 0"],
      ["swapon", 'b"/x", 0'],
      ["settimeofday", "0, 0"],
      ["iopl", "3"],
      ["ioperm", "0, 1, 1"],
      ["personality", "0x40000"],
      ["acct", "0"],
      ["fanotify_init", "0, 0"],
    ];
    const { output } = await attacker.python(`${SYSCALLS}
${attempts.map(([name, args]) => `print("${name}", call("${name}", ${args}))`).join("\n")}`);
    expect(output.trim().split("\n")).toEqual(attempts.map(([name]) => `${name} ${refusedWith(name, "EPERM")}`));
  });

  test("only Unix, IP and netlink sockets can be created, through any system call", async () => {
    const { output } = await attacker.python(`${SYSCALLS}
FAMILIES = dict(packet=17, alg=38, vsock=40, xdp=44, rds=21, tipc=30, can=29, bluetooth=31, key=15, ax25=3, x25=9)
pair = ctypes.create_string_buffer(8)
for name, family in FAMILIES.items():
    print("socket", name, call("socket", family, 3 if name == "packet" else 2, 0))
    print("socketpair", name, call("socketpair", family, 2, 0, pair))
    # The kernel looks at the lower half of the number alone.
    print("upper half of socket", name, call("socket", 0x100000000 | family, 2, 0))
    print("upper half of socketpair", name, call("socketpair", 0x100000000 | family, 2, 0, pair))
print("raw", attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)))`);
    const lines = output.trim().split("\n");
    expect(lines).toHaveLength(45);
    expect(lines.filter((line) => !line.endsWith(" EPERM"))).toEqual([]);
    expect((await attacker.python(`${SYSCALLS}\nprint(call("socketpair", 1, 1, 0, ctypes.create_string_buffer(8)))`)).output).toBe("OK\n");
  });

  test("processes of the host and of the neighbour cannot be signalled or traced", async () => {
    const victims = [process.pid, initOf(sandboxes, neighbour), initOf(sandboxes, attacker)];
    const { output } = await attacker.python(`${SYSCALLS}
for pid in ${JSON.stringify(victims)}:
    print(attempt(lambda: os.kill(pid, 0)), attempt(lambda: os.kill(pid, 9)), call("ptrace", 16, pid, 0, 0), call("pidfd_open", pid, 0))
print(attempt(lambda: os.kill(1, 9)))
import glob
print(len([p for p in glob.glob("/proc/[0-9]*") if b"daemon.cjs" in open(p + "/cmdline", "rb").read()]))`);
    const lines = output.trim().split("\n");
    expect(lines.slice(0, 3)).toEqual(Array.from({ length: 3 }, () => "ESRCH ESRCH ESRCH ESRCH"));
    expect(lines.at(-1)).toBe("1");
    expect(await sandboxes.driver.inspect(neighbour.id, AbortSignal.timeout(30_000))).toBe("running");
    expect(await attacker.sh("echo still here")).toMatchObject({ output: "still here\n" });
  });

  test("shared memory, semaphores and message queues are not shared between sandboxes", async () => {
    await neighbour.sh(
      "ipcmk -M 4096 -p 0666; ipcmk -S 1 -p 0666; ipcmk -Q -p 0666; echo secret > /dev/shm/secret; echo secret > /tmp/secret; chmod 666 /dev/shm/secret /tmp/secret",
    );
    expect((await attacker.sh("ipcs | grep -c 0x; ls /dev/shm /tmp | grep secret")).output).toBe("0\n");
  });

  test("a program cannot inject input into its terminal", async () => {
    const { output } = await attacker.python(`${SYSCALLS}
import fcntl, pty, termios
master, slave = pty.openpty()
print(attempt(lambda: fcntl.ioctl(slave, termios.TIOCSTI, b"x")), attempt(lambda: fcntl.ioctl(slave, 0x541C, b"\\x02")))
# The kernel looks at the lower half of the number alone.
print(call("ioctl", slave, 0x100005412, b"x"), call("ioctl", slave, 0xdead00005412, b"x"))`);
    expect(output).toBe("EPERM EPERM\nEPERM EPERM\n");
  });
});
