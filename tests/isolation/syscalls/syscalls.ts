// The system calls of the attackers, with their numbers on both processors that Berth supports and in the tables of their 32-bit
// programs. `absent` marks a call that a table does not have.
const absent = undefined;
const NUMBERS = {
  // [x64, arm64, x86, arm]
  acct: [163, 89, 51, 51],
  add_key: [248, 217, 286, 309],
  adjtimex: [159, 171, 124, 124],
  bpf: [321, 280, 357, 386],
  chroot: [161, 51, 61, 61],
  clock_adjtime: [305, 266, 343, 372],
  clock_settime: [227, 112, 264, 262],
  clock_settime64: [absent, absent, 404, 404],
  clone: [56, 220, 120, 120],
  clone3: [435, 435, 435, 435],
  delete_module: [176, 106, 129, 129],
  fanotify_init: [300, 262, 338, 367],
  finit_module: [313, 273, 350, 379],
  fsconfig: [431, 431, 431, 431],
  fsmount: [432, 432, 432, 432],
  fsopen: [430, 430, 430, 430],
  fspick: [433, 433, 433, 433],
  get_mempolicy: [239, 236, 275, 320],
  getpid: [39, 172, 20, 20],
  init_module: [175, 105, 128, 128],
  inotify_init1: [294, 26, 332, 360],
  io_setup: [206, 0, 245, 243],
  io_uring_setup: [425, 425, 425, 425],
  ioctl: [16, 29, 54, 54],
  ioperm: [173, absent, 101, absent],
  iopl: [172, absent, 110, absent],
  kcmp: [312, 272, 349, 378],
  kexec_file_load: [320, 294, absent, 401],
  kexec_load: [246, 104, 283, 347],
  keyctl: [250, 219, 288, 311],
  mbind: [237, 235, 274, 319],
  memfd_create: [319, 279, 356, 385],
  mmap: [9, 222, 90, absent],
  mmap2: [absent, absent, 192, 192],
  modify_ldt: [154, absent, 123, absent],
  mount: [165, 40, 21, 21],
  mount_setattr: [442, 442, 442, 442],
  move_mount: [429, 429, 429, 429],
  move_pages: [279, 239, 317, 344],
  mq_open: [240, 180, 277, 274],
  mq_unlink: [241, 181, 278, 275],
  name_to_handle_at: [303, 264, 341, 370],
  open_by_handle_at: [304, 265, 342, 371],
  open_tree: [428, 428, 428, 428],
  pciconfig_read: [absent, absent, absent, 272],
  perf_event_open: [298, 241, 336, 364],
  personality: [135, 92, 136, 136],
  pidfd_getfd: [438, 438, 438, 438],
  pidfd_open: [434, 434, 434, 434],
  pivot_root: [155, 41, 217, 218],
  prctl: [157, 167, 172, 172],
  process_vm_readv: [310, 270, 347, 376],
  ptrace: [101, 117, 26, 26],
  quotactl: [179, 60, 131, 131],
  reboot: [169, 142, 88, 88],
  request_key: [249, 218, 287, 310],
  seccomp: [317, 277, 354, 383],
  set_mempolicy: [238, 237, 276, 321],
  setns: [308, 268, 346, 375],
  setsockopt: [54, 208, 366, 294],
  settimeofday: [164, 170, 79, 79],
  socket: [41, 198, 359, 281],
  socketcall: [absent, absent, 102, absent],
  socketpair: [53, 199, 360, 288],
  stime: [absent, absent, 25, absent],
  swapon: [167, 224, 87, 87],
  syslog: [103, 116, 103, 103],
  timer_create: [222, 107, 259, 257],
  umount: [absent, absent, 22, absent],
  umount2: [166, 39, 52, 52],
  unshare: [272, 97, 310, 337],
  userfaultfd: [323, 282, 374, 388],
  vm86: [absent, absent, 166, absent],
  vmsplice: [278, 75, 316, 343],
} satisfies Record<string, readonly [CallNumber, CallNumber, CallNumber, CallNumber]>;

type CallNumber = number | undefined;
export type CallName = keyof typeof NUMBERS;
export const TABLES = ["x64", "arm64", "x86", "arm"] as const;
export type Table = (typeof TABLES)[number];

export const CALL_NAMES = Object.keys(NUMBERS) as CallName[];
export const numberOf = (name: CallName, table: Table): CallNumber => NUMBERS[name][TABLES.indexOf(table)];

// The table of this machine.
export const NATIVE: Table = process.arch === "arm64" ? "arm64" : "x64";
export const COMPANION: Table = NATIVE === "arm64" ? "arm" : "x86";

const numbers = CALL_NAMES.flatMap((name) => {
  const number = numberOf(name, NATIVE);
  return number === undefined ? [] : [`${name}=${number}`];
});

// For Python: makes a system call by name. Returns the name of the error, OK, or ABSENT if this processor has no such call.
export const SYSCALLS = `
import ctypes, errno, os, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
NUMBERS = dict(${numbers.join(", ")})
def call_number(number, *args):
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    return "OK" if result >= 0 else errno.errorcode.get(ctypes.get_errno(), "?")
def call(name, *args):
    return call_number(NUMBERS[name], *args) if name in NUMBERS else "ABSENT"
def attempt(work):
    try:
        work()
        return "OK"
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
`;

// The result of `call` if the filter refuses the call with `error`.
export const refusedWith = (name: CallName, error: string): string => (numberOf(name, NATIVE) === undefined ? "ABSENT" : error);
