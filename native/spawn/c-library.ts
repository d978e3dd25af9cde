import { type Library, loadKoffi } from "../koffi.ts";

// The functions of the C library that start programs. Node's own `spawn` copies the page tables of this process, and
// afterwards both processes copy each page that one of them writes, which takes longer than most commands. `posix_spawn` lets the
// child use the memory of this process until it runs its program.
export interface CLibrary {
  // The end to read and the end to write. Throws a SystemFailure.
  pipe(): [read: number, write: number];
  // Starts a program that leads a new session, with these three open files only. Returns its process id. Throws a SystemFailure.
  spawn(launch: Launch): number;
  // How a child has ended, as `wait` encodes it; null if it runs. After its end, the id may belong to another process.
  reap(pid: number): number | null;
  // Calls back whenever a child may have ended.
  onChildEnd(listener: () => void): void;
}

export interface Launch {
  // Absolute, or relative to the working directory. Not looked up in PATH.
  path: string;
  args: string[];
  // `NAME=value`.
  env: string[];
  // Absent: that of this process.
  cwd?: string | undefined;
  // Descriptors of this process; null for /dev/null.
  stdin: number | null;
  stdout: number | null;
  stderr: number | null;
}

export class SystemFailure extends Error {
  readonly errno: number;
  constructor(call: string, errno: number) {
    super(`${call} failed`);
    this.name = "SystemFailure";
    this.errno = errno;
  }
}

// Of Linux, the same for x64 and arm64.
const O_RDWR = 2;
const O_CLOEXEC = 0o2000000;
const WNOHANG = 1;
const SETSIGDEF = 0x04;
const SETSIGMASK = 0x08;
const SETSID = 0x80;
// More than any of the C library's structures needs.
const STRUCTURE_BYTES = 512;

// Throws if koffi is not installed, or if the C library is too old.
export function loadCLibrary(): CLibrary {
  const koffi = loadKoffi();
  const library = koffi.load(null);
  const pipe2 = library.func("int pipe2(_Out_ int *ends, int flags)");
  const waitpid = library.func("int waitpid(int pid, _Out_ int *status, int options)");
  const posixSpawn = library.func(
    "int posix_spawn(_Out_ int *pid, const char *path, void *actions, void *attributes, const char **args, const char **env)",
  );
  const initActions = library.func("int posix_spawn_file_actions_init(void *actions)");
  const addOpen = library.func("int posix_spawn_file_actions_addopen(void *actions, int fd, const char *path, int flags, int mode)");
  const addDup = library.func("int posix_spawn_file_actions_adddup2(void *actions, int fd, int target)");
  const addChdir = library.func("int posix_spawn_file_actions_addchdir_np(void *actions, const char *path)");
  const destroyActions = library.func("int posix_spawn_file_actions_destroy(void *actions)");
  const actions = Buffer.alloc(STRUCTURE_BYTES);
  const attributes = createAttributes(library);

  return {
    pipe() {
      const ends: [number, number] = [0, 0];
      if (pipe2(ends, O_CLOEXEC) !== 0) throw new SystemFailure("pipe2", koffi.errno());
      return ends;
    },
    spawn({ path, args, env, cwd, stdin, stdout, stderr }) {
      initActions(actions);
      try {
        for (const [target, fd] of [stdin, stdout, stderr].entries())
          if (fd === null) addOpen(actions, target, "/dev/null", O_RDWR, 0);
          else addDup(actions, fd, target);
        if (cwd !== undefined) addChdir(actions, cwd);
        const pid = [0];
        const errno = posixSpawn(pid, path, actions, attributes, [...args, null], [...env, null]);
        if (errno !== 0) throw new SystemFailure("posix_spawn", errno);
        return pid[0]!;
      } finally {
        destroyActions(actions);
      }
    },
    reap(pid) {
      const status = [0];
      return waitpid(pid, status, WNOHANG) === pid ? status[0]! : null;
    },
    onChildEnd: (listener) => void process.on("SIGCHLD", listener),
  };
}

// Node ignores SIGPIPE, and the shell that starts the daemon in the background ignores SIGQUIT. Programs expect neither.
function createAttributes(library: Library): Buffer {
  const init = library.func("int posix_spawnattr_init(void *attributes)");
  const setFlags = library.func("int posix_spawnattr_setflags(void *attributes, short flags)");
  const setDefault = library.func("int posix_spawnattr_setsigdefault(void *attributes, void *signals)");
  const setMask = library.func("int posix_spawnattr_setsigmask(void *attributes, void *signals)");
  const attributes = Buffer.alloc(STRUCTURE_BYTES);
  init(attributes);
  setFlags(attributes, SETSIGDEF | SETSIGMASK | SETSID);
  setDefault(attributes, Buffer.alloc(STRUCTURE_BYTES).fill(0xff, 0, 8));
  setMask(attributes, Buffer.alloc(STRUCTURE_BYTES));
  return attributes;
}
