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
// Address families beyond Unix, IPv4, IPv6 and netlink: AF_ALG, AF_VSOCK, AF_PACKET, AF_XDP, AF_RDS, AF_TIPC, AF_CAN, AF_BLUETOOTH, AF_KEY.
const DENIED_FAMILIES = [38, 40, 17, 44, 21, 30, 29, 31, 15];

export function seccompProfile(architecture: NodeJS.Architecture = process.arch) {
  return {
    defaultAction: "SCMP_ACT_ALLOW",
    // Other system call tables of the same processor are not listed, and what is not listed is killed.
    architectures: [architecture === "arm64" ? "SCMP_ARCH_AARCH64" : "SCMP_ARCH_X86_64"],
    syscalls: [
      { names: DENIED, action: "SCMP_ACT_ERRNO", errnoRet: EPERM },
      // clone3 hides its flags in memory where no filter can see them. ENOSYS makes the C library fall back to clone.
      { names: ["clone3"], action: "SCMP_ACT_ERRNO", errnoRet: ENOSYS },
      ...NEW_NAMESPACE_FLAGS.map((flag) => denyWhen("clone", 0, flag, "SCMP_CMP_MASKED_EQ")),
      ...DENIED_FAMILIES.map((family) => denyWhen("socket", 0, family, "SCMP_CMP_EQ")),
      // TIOCSTI types into the terminal of whoever is above; TIOCLINUX does the same on consoles.
      ...[0x5412, 0x541c].map((request) => denyWhen("ioctl", 1, request, "SCMP_CMP_EQ")),
    ],
  };
}

function denyWhen(name: string, index: number, value: number, op: "SCMP_CMP_EQ" | "SCMP_CMP_MASKED_EQ") {
  const args = [op === "SCMP_CMP_EQ" ? { index, value, op } : { index, value, valueTwo: value, op }];
  return { names: [name], action: "SCMP_ACT_ERRNO", errnoRet: EPERM, args };
}
