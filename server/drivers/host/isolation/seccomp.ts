// The system call filter of local sandboxes. It denies calls that no program in a sandbox needs, calls that were used to escape
// from containers, and calls that consume a limit of the whole machine. The lack of capabilities already forbids most of them;
// the filter is a second defence against bugs in the checks of the kernel. Everything else is allowed, so that compilers,
// debuggers and language runtimes work.

// Includes calls that exist only for 32-bit programs.
const DENIED = [
  // Mounts and namespaces.
  "mount umount umount2 pivot_root chroot move_mount open_tree open_tree_attr fsopen fsconfig fsmount fspick mount_setattr",
  "unshare setns name_to_handle_at open_by_handle_at sethostname setdomainname",
  // The kernel itself: modules, kexec, memory, log, clock.
  "init_module finit_module delete_module create_module query_module get_kernel_syms kexec_load kexec_file_load reboot syslog _sysctl",
  "settimeofday stime clock_settime clock_settime64 clock_adjtime clock_adjtime64 adjtimex",
  "swapon swapoff acct quotactl quotactl_fd nfsservctl bdflush",
  "iopl ioperm modify_ldt vm86 vm86old pciconfig_iobase pciconfig_read pciconfig_write lookup_dcookie uselib ustat sysfs vhangup personality",
  // These are large attack surfaces with a history of vulnerabilities.
  "bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register fanotify_init vmsplice",
  "add_key request_key keyctl",
  // Memory and descriptors of other processes. Debuggers use ptrace on their own children, which is still allowed.
  "process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd",
  "migrate_pages move_pages mbind set_mempolicy set_mempolicy_home_node get_mempolicy",
  // The old 32-bit entry point for all socket calls. Its arguments are in memory, where no filter can read them. The separate
  // calls, which Linux has since 4.3, are filtered below.
  "socketcall",
].flatMap((names) => names.split(" "));

// Sandboxes that build images need these, which their capabilities limit to the sandbox. The newer mount calls stay denied.
const MOUNTS = new Set(["mount", "umount2", "chroot", "unshare"]);

// Denied with ENOSYS, as on a kernel that lacks them, so that programs use their fallback.
const ABSENT = [
  // Its flags are in memory, where no filter can read them. The C library falls back to clone.
  "clone3",
  // All processes of a machine share fs.aio-max-nr. Databases fall back to threads.
  "io_setup",
  // The kernel compiles the filters of all processes into one memory region (net.core.bpf_jit_limit). 2,000 filters took a tenth
  // of it. When it is full, no sandbox can start.
  "seccomp",
];

const EPERM = 1;
const ENOMEM = 12;
const EINVAL = 22;
const ENOSYS = 38;
// CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. (NEWTIME works only with unshare and clone3.)
const NEW_NAMESPACE_FLAGS = [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000];
// CLONE_NEWNS and NEWUTS.
const NAMESPACES_OF_MOUNTS = new Set([0x20000, 0x4000000]);
// Programs need Unix, IPv4, IPv6 and netlink (16). The other families are obsolete, rare, or reach outside the sandbox.
const OTHER_FAMILIES = [0, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15];
const LAST_FAMILY = 16;
// TIOCSTI injects input into the terminal of a parent process; TIOCLINUX does the same on consoles.
const INPUT_INJECTION_REQUESTS = [0x5412, 0x541c];
// SO_ATTACH_FILTER, _BPF, _REUSEPORT_CBPF, _REUSEPORT_EBPF: compiled into the same memory region as system call filters.
const SOL_SOCKET = 1;
const ATTACH_OPTIONS = [26, 50, 51, 52];
const PR_SET_SECCOMP = 22;
const SECCOMP_MODE_FILTER = 2;
// Huge pages are reserved by the operator and do not count towards the memory of a sandbox.
const MAP_HUGETLB = 0x40000;
const MFD_HUGETLB = 4;

// Every system call table of the processor, so that each denial applies in all of them. The kernel kills programs that use a table
// which is not listed, so leaving one out would break all 32-bit programs.
const TABLES: Partial<Record<NodeJS.Architecture, readonly string[]>> = {
  x64: ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
  arm64: ["SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"],
};

export const FILTERED_ARCHITECTURES = Object.keys(TABLES);

// The profile in the format of the OCI runtime specification, which Docker accepts as well. Without `honoursErrno`, it contains
// only rules that deny with EPERM.
export function seccompProfile(
  { honoursErrno, keepsOwners = false, mounts = false }: FilterOptions,
  architecture: NodeJS.Architecture = process.arch,
) {
  const architectures = TABLES[architecture];
  if (!architectures) throw new Error(`there is no system call filter for ${architecture}`);
  return {
    defaultAction: "SCMP_ACT_ALLOW",
    architectures,
    syscalls: [
      { names: mounts ? DENIED.filter((name) => !MOUNTS.has(name)) : DENIED, action: "SCMP_ACT_ERRNO", errnoRet: EPERM },
      ...NEW_NAMESPACE_FLAGS.map((flag) => refuse(["clone"], EPERM, hasBits(0, flag))),
      ...(mounts ? NEW_NAMESPACE_FLAGS.filter((flag) => !NAMESPACES_OF_MOUNTS.has(flag)) : []).map((flag) =>
        refuse(["unshare"], EPERM, hasBits(0, flag)),
      ),
      ...OTHER_FAMILIES.map((family) => refuse(["socket", "socketpair"], EPERM, isNumber(0, family))),
      refuse(["socket", "socketpair"], EPERM, { index: 0, value: LAST_FAMILY, op: "SCMP_CMP_GT" }),
      ...INPUT_INJECTION_REQUESTS.map((request) => refuse(["ioctl"], EPERM, isNumber(1, request))),
      ...ATTACH_OPTIONS.map((option) => refuse(["setsockopt"], EPERM, isNumber(1, SOL_SOCKET), isNumber(2, option))),
      ...(honoursErrno ? WITH_OTHER_ERRORS : []),
      ...(keepsOwners ? [{ names: OWNER_CALLS, action: "SCMP_ACT_ERRNO", errnoRet: 0 }] : []),
    ],
  };
}

interface FilterOptions {
  honoursErrno: boolean;
  // The sandbox has only one user, with the number 0. Programs such as tar and npm expect that this user can give files to others, so
  // these calls do nothing and report success.
  keepsOwners?: boolean;
  // The sandbox builds images, so it may mount file systems and change its root, in mount namespaces of its own.
  mounts?: boolean;
}

const OWNER_CALLS = "chown lchown fchown fchownat chown32 lchown32 fchown32".split(" ");

interface Condition {
  index: number;
  value: number;
  valueTwo?: number;
  op: "SCMP_CMP_GT" | "SCMP_CMP_MASKED_EQ";
}

// Denies the calls if all conditions hold.
const refuse = (names: readonly string[], errnoRet: number, ...args: Condition[]) => ({
  names,
  action: "SCMP_ACT_ERRNO",
  errnoRet,
  args,
});

const hasBits = (index: number, bits: number): Condition => ({ index, value: bits, valueTwo: bits, op: "SCMP_CMP_MASKED_EQ" });

// The kernel reads only the lower 32 bits of such an argument. A filter that compares all 64 could be bypassed by setting a bit in
// the upper half.
const isNumber = (index: number, number: number): Condition => ({ index, value: 0xffffffff, valueTwo: number, op: "SCMP_CMP_MASKED_EQ" });

// gVisor always answers EPERM, which programs do not expect from these calls. It does not need these rules, because its kernel
// belongs to the sandbox, so the calls consume nothing of the machine.
const WITH_OTHER_ERRORS = [
  { names: ABSENT, action: "SCMP_ACT_ERRNO", errnoRet: ENOSYS },
  refuse(["prctl"], EINVAL, isNumber(0, PR_SET_SECCOMP), isNumber(1, SECCOMP_MODE_FILTER)),
  refuse(["mmap", "mmap2"], ENOMEM, hasBits(3, MAP_HUGETLB)),
  // The answer of a kernel that does not know the flag, which Chromium expects when it tests for unknown flags.
  refuse(["memfd_create"], EINVAL, hasBits(1, MFD_HUGETLB)),
];
