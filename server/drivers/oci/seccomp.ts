// What no program in a sandbox needs and what has let programs out of containers before. Capabilities already forbid
// most of it; the filter holds where the kernel's own checks are wrong. Everything else is allowed, so that compilers,
// debuggers and language runtimes work.
const DENIED = [
  // Mounts and namespaces.
  "mount umount umount2 pivot_root chroot move_mount open_tree fsopen fsconfig fsmount fspick mount_setattr",
  "unshare setns name_to_handle_at open_by_handle_at",
  // The kernel itself: modules, other kernels, its memory, its log, its clock.
  "init_module finit_module delete_module create_module query_module kexec_load kexec_file_load reboot syslog _sysctl",
  "settimeofday clock_settime clock_adjtime adjtimex swapon swapoff acct quotactl quotactl_fd nfsservctl",
  "iopl ioperm lookup_dcookie uselib ustat sysfs vhangup personality",
  // Large surfaces with a history of holes.
  "bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register fanotify_init vmsplice",
  "add_key request_key keyctl",
  // Memory and descriptors of other processes. A debugger traces its own children, which ptrace still allows.
  "process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd migrate_pages move_pages mbind set_mempolicy",
].flatMap((names) => names.split(" "));

const EPERM = 1;
const ENOSYS = 38;
// CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. (NEWTIME exists for unshare and clone3 alone.)
const NEW_NAMESPACE_FLAGS = [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000];
// Unix, IPv4, IPv6 and netlink (16) are all that a program needs. The other families are old, rare or lead out.
const OTHER_FAMILIES = [0, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15];
const LAST_FAMILY = 16;
// TIOCSTI types into the terminal of whoever is above; TIOCLINUX does the same on consoles.
const TYPING_REQUESTS = [0x5412, 0x541c];

export function seccompProfile({ choosesErrors }: { choosesErrors: boolean }, architecture: NodeJS.Architecture = process.arch) {
  return {
    defaultAction: "SCMP_ACT_ALLOW",
    // Other system call tables of the same processor are not listed, and what is not listed is killed.
    architectures: [architecture === "arm64" ? "SCMP_ARCH_AARCH64" : "SCMP_ARCH_X86_64"],
    syscalls: [
      { names: DENIED, action: "SCMP_ACT_ERRNO", errnoRet: EPERM },
      // clone3 hides its flags in memory where no filter can see them. ENOSYS makes the C library fall back to clone.
      ...(choosesErrors ? [{ names: ["clone3"], action: "SCMP_ACT_ERRNO", errnoRet: ENOSYS }] : []),
      ...NEW_NAMESPACE_FLAGS.map((flag) => denyWhen("clone", hasBits(0, flag))),
      ...OTHER_FAMILIES.map((family) => denyWhen("socket", isNumber(0, family))),
      denyWhen("socket", { index: 0, value: LAST_FAMILY, op: "SCMP_CMP_GT" }),
      ...TYPING_REQUESTS.map((request) => denyWhen("ioctl", isNumber(1, request))),
    ],
  };
}

interface Condition {
  index: number;
  value: number;
  valueTwo?: number;
  op: "SCMP_CMP_GT" | "SCMP_CMP_MASKED_EQ";
}

const denyWhen = (name: string, condition: Condition) => ({ names: [name], action: "SCMP_ACT_ERRNO", errnoRet: EPERM, args: [condition] });

const hasBits = (index: number, bits: number): Condition => ({ index, value: bits, valueTwo: bits, op: "SCMP_CMP_MASKED_EQ" });

// The kernel looks at the lower half of such an argument alone. A filter that compares all of it is passed by setting a
// bit in the upper half.
const isNumber = (index: number, number: number): Condition => ({ index, value: 0xffffffff, valueTwo: number, op: "SCMP_CMP_MASKED_EQ" });
