import type { CallName } from "./syscalls.ts";

// A system call and its arguments; those that are not given are 0.
export type Call = readonly [CallName, ...(number | Buffer)[]];

const text = (words: string) => Buffer.from(`${words}\0`);
const pair = Buffer.alloc(8);
const words = (...values: number[]) => Buffer.from(Int32Array.from(values).buffer);

// The filter refuses these with EPERM, in every system call table that has the call.
export const REFUSED: Call[] = [
  ["mount", text("x"), text("/tmp"), text("tmpfs"), 0],
  ["umount", text("/tmp")],
  ["umount2", text("/tmp"), 2],
  ["pivot_root", text("/tmp"), text("/tmp")],
  ["chroot", text("/tmp")],
  ["open_tree", -100, text("/"), 1],
  ["fsopen", text("tmpfs"), 0],
  ["mount_setattr", -100, text("/"), 0],
  ["unshare", 0x10000000],
  ["clone", 0x10000000 | 17],
  ["clone", 0x20000 | 17],
  ["setns", 0, 0],
  ["open_by_handle_at", 3],
  ["init_module"],
  ["finit_module", 0, text("")],
  ["kexec_load"],
  ["reboot"],
  ["syslog", 3],
  ["settimeofday"],
  ["stime", Buffer.alloc(4)],
  ["clock_settime", 0, Buffer.alloc(16)],
  ["clock_settime64", 0, Buffer.alloc(16)],
  ["adjtimex", Buffer.alloc(256)],
  ["swapon", text("/x")],
  ["iopl", 3],
  ["ioperm", 0, 1, 1],
  ["modify_ldt", 0],
  ["vm86", 1],
  ["pciconfig_read", 0, 0, 0, 4],
  ["personality", 0x40000],
  ["bpf"],
  ["perf_event_open", 0, 0, -1, -1],
  ["userfaultfd", 1],
  ["io_uring_setup", 8],
  ["fanotify_init"],
  ["keyctl", 0, -3, 1],
  ["add_key", text("user"), text("x"), text("y"), 1],
  ["process_vm_readv", 1],
  ["pidfd_getfd", 3],
  ["move_pages"],
  ["get_mempolicy"],
  // AF_ALG, AF_VSOCK, AF_PACKET and AF_TIPC. socketcall gets its arguments from memory.
  ["socket", 38, 5, 0],
  ["socket", 40, 1, 0],
  ["socket", 17, 3, 0],
  ["socketpair", 38, 5, 0, pair],
  ["socketpair", 30, 5, 0, pair],
  ["socketcall", 1, words(38, 5, 0)],
  ["socketcall", 8, words(1, 1, 0, 0)],
  // SO_ATTACH_FILTER.
  ["setsockopt", 0, 1, 26, Buffer.alloc(8)],
  // TIOCSTI.
  ["ioctl", 0, 0x5412, text("x")],
];

// The filter answers these like a kernel without them.
export const MISSING: Call[] = [["clone3"], ["io_setup", 1, Buffer.alloc(8)], ["seccomp", 1]];

// Programs need these.
export const WORKING: Call[] = [
  ["getpid"],
  ["clone", 17],
  ["socket", 1, 1, 0],
  ["socket", 2, 1, 0],
  ["socket", 10, 1, 0],
  ["socket", 16, 3, 0],
  ["socketpair", 1, 1, 0, pair],
  ["memfd_create", text("x"), 0],
];
