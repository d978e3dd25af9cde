// The system call filter of local sandboxes. It denies calls that no program in a sandbox needs, calls that have let
// programs out of containers before, and calls that use up a limit of the whole machine. Capabilities already forbid most
// of them; the filter holds where the kernel's own checks are wrong. Everything else is allowed, so that compilers,
// debuggers and language runtimes work.

// By the name that a call has in any of the tables below: 32-bit programs have calls that 64-bit ones lack.
const DENIED = [
  // Mounts and namespaces.
  "mount umount umount2 pivot_root chroot move_mount open_tree open_tree_attr fsopen fsconfig fsmount fspick mount_setattr",
  "unshare setns name_to_handle_at open_by_handle_at sethostname setdomainname",
  // The kernel itself: modules, other kernels, its memory, its log, its clock.
  "init_module finit_module delete_module create_module query_module get_kernel_syms kexec_load kexec_file_load reboot syslog _sysctl",
  "settimeofday stime clock_settime clock_settime64 clock_adjtime clock_adjtime64 adjtimex",
  "swapon swapoff acct quotactl quotactl_fd nfsservctl bdflush",
  "iopl ioperm vm86 vm86old pciconfig_iobase pciconfig_read pciconfig_write lookup_dcookie uselib ustat sysfs vhangup personality",
  // Large surfaces with a history of holes.
  "bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register fanotify_init vmsplice",
  "add_key request_key keyctl",
  // Memory and descriptors of other processes. A debugger traces its own children, which ptrace still allows.
  "process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd",
  "migrate_pages move_pages mbind set_mempolicy set_mempolicy_home_node get_mempolicy",
  // The old 32-bit way to all socket calls, with the family in memory where no filter sees it. The calls of their own,
  // which the kernel has had since 4.3, are filtered below.
  "socketcall",
].flatMap((names) => names.split(" "));

// Answered as by a kernel without them, so that programs take their other way.
const ABSENT = [
  // Its flags are in memory too. The C library falls back to clone.
  "clone3",
  // Asynchronous I/O of all processes of a machine counts towards fs.aio-max-nr. Databases fall back to threads.
  "io_setup",
  // Filters of all processes are compiled into one region (net.core.bpf_jit_limit): 2,000 of them took a tenth of it. When
  // it is full, no sandbox can be started.
  "seccomp",
];

const EPERM = 1;
const ENOMEM = 12;
const EINVAL = 22;
const ENOSYS = 38;
// CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. (NEWTIME exists for unshare and clone3 alone.)
const NEW_NAMESPACE_FLAGS = [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000];
// Unix, IPv4, IPv6 and netlink (16) are all that a program needs. The other families are old, rare or lead out.
const OTHER_FAMILIES = [0, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15];
const LAST_FAMILY = 16;
// TIOCSTI types into the terminal of a process above; TIOCLINUX does the same on consoles.
const TYPING_REQUESTS = [0x5412, 0x541c];
// SO_ATTACH_FILTER, _BPF, _REUSEPORT_CBPF, _REUSEPORT_EBPF: compiled into the same region as filters of system calls.
const SOL_SOCKET = 1;
const ATTACH_OPTIONS = [26, 50, 51, 52];
const PR_SET_SECCOMP = 22;
const SECCOMP_MODE_FILTER = 2;
// Pages of this kind are reserved by the operator and counted in no sandbox's memory.
const MAP_HUGETLB = 0x40000;
const MFD_HUGETLB = 4;

// Every system call table of the processor, so that each denial holds in all of them. A table that is not listed would end
// the program that uses it, and with it every 32-bit program.
const TABLES: Partial<Record<NodeJS.Architecture, readonly string[]>> = {
  x64: ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
  arm64: ["SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"],
};

export const FILTERED_ARCHITECTURES = Object.keys(TABLES);

// In the words of the OCI runtime specification, which Docker understands too.
export function seccompProfile({ honoursErrno }: { honoursErrno: boolean }, architecture: NodeJS.Architecture = process.arch) {
  const architectures = TABLES[architecture];
  if (!architectures) throw new Error(`there is no system call filter for ${architecture}`);
  return {
    defaultAction: "SCMP_ACT_ALLOW",
    architectures,
    syscalls: [
      { names: DENIED, action: "SCMP_ACT_ERRNO", errnoRet: EPERM },
      ...NEW_NAMESPACE_FLAGS.map((flag) => refuse(["clone"], EPERM, hasBits(0, flag))),
      ...OTHER_FAMILIES.map((family) => refuse(["socket", "socketpair"], EPERM, isNumber(0, family))),
      refuse(["socket", "socketpair"], EPERM, { index: 0, value: LAST_FAMILY, op: "SCMP_CMP_GT" }),
      ...TYPING_REQUESTS.map((request) => refuse(["ioctl"], EPERM, isNumber(1, request))),
      ...ATTACH_OPTIONS.map((option) => refuse(["setsockopt"], EPERM, isNumber(1, SOL_SOCKET), isNumber(2, option))),
      ...(honoursErrno ? WITH_OTHER_ERRORS : []),
    ],
  };
}

interface Condition {
  index: number;
  value: number;
  valueTwo?: number;
  op: "SCMP_CMP_GT" | "SCMP_CMP_MASKED_EQ";
}

// When all of the conditions hold.
const refuse = (names: readonly string[], errnoRet: number, ...args: Condition[]) => ({
  names,
  action: "SCMP_ACT_ERRNO",
  errnoRet,
  args,
});

const hasBits = (index: number, bits: number): Condition => ({ index, value: bits, valueTwo: bits, op: "SCMP_CMP_MASKED_EQ" });

// The kernel looks at the lower half of such an argument alone. A filter that compares all of it is passed by setting a
// bit in the upper half.
const isNumber = (index: number, number: number): Condition => ({ index, value: 0xffffffff, valueTwo: number, op: "SCMP_CMP_MASKED_EQ" });

// gVisor answers EPERM whatever the rule says, which programs do not expect of these. Its kernel is the sandbox's own, so
// that none of them uses up anything of the machine.
const WITH_OTHER_ERRORS = [
  { names: ABSENT, action: "SCMP_ACT_ERRNO", errnoRet: ENOSYS },
  refuse(["prctl"], EINVAL, isNumber(0, PR_SET_SECCOMP), isNumber(1, SECCOMP_MODE_FILTER)),
  refuse(["mmap", "mmap2"], ENOMEM, hasBits(3, MAP_HUGETLB)),
  // As by a kernel that does not know the flag, and what Chromium expects when it tries out unknown ones.
  refuse(["memfd_create"], EINVAL, hasBits(1, MFD_HUGETLB)),
];
