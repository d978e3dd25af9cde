import { createHash } from "node:crypto";
import { readdirSync, readlinkSync } from "node:fs";
import { readFile, realpath } from "node:fs/promises";
import { createServer } from "node:net";

// Locks the data folder for this process: a server, or a command that must not run beside one. Rejects with a sentence for the
// operator if another process holds the lock. The folder must exist.
//
// The lock is an abstract Unix socket. The kernel releases it however the process ends, so there are no stale locks. Only Linux
// has such sockets; on other systems this is a no-op.
export async function lockDataFolder(dataDir: string): Promise<AsyncDisposable> {
  if (process.platform !== "linux") return { [Symbol.asyncDispose]: async () => {} };
  const folder = await realpath(dataDir);
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      reject(
        error.code === "EADDRINUSE"
          ? new Error(`Another server uses the data folder ${folder}. Stop it, or set BERTH_DATA_DIR to another folder.`)
          : error,
      );
    });
    server.listen({ path: `\0${lockName(folder)}`, exclusive: true }, resolve);
  });
  server.unref();
  return { [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) };
}

// Returns the id of the process that holds the lock, or null if it is free. Returns `hidden` if this user may not see the
// process, or if it runs in a container that shares only the network namespace with this one.
export async function findLockHolder(dataDir: string): Promise<number | "hidden" | null> {
  const name = lockName(await realpath(dataDir));
  const inode = (await listLocks()).find((lock) => lock.name === name)?.inode;
  return inode === undefined ? null : (findSocketOwners([inode]).get(inode) ?? "hidden");
}

// Whether a server with another data folder runs on this machine.
export async function otherServersRun(dataDir: string): Promise<boolean> {
  const own = lockName(await realpath(dataDir));
  return (await listLocks()).some(({ name }) => name !== own);
}

// The processes that hold the lock of a data folder, as far as this user may see them. Only processes that `isCandidate` accepts
// are searched, because listing the open files of every process is slow.
export async function listLockHolders(
  isCandidate: (pid: number) => boolean,
): Promise<{ pid: number; holds: (folder: string) => Promise<boolean> }[]> {
  const locks = await listLocks();
  const owners = findSocketOwners(
    locks.map(({ inode }) => inode),
    isCandidate,
  );
  return locks.flatMap(({ inode, name }) => {
    const pid = owners.get(inode);
    const holds = async (folder: string) => lockName(await realpath(folder).catch(() => folder)) === name;
    return pid === undefined ? [] : [{ pid, holds }];
  });
}

const lockName = (folder: string) => `berth-${createHash("sha256").update(folder).digest("hex").slice(0, 32)}`;

// A listening socket (flags 00010000) in the kernel's table of Unix sockets. The leading NUL of its name is shown as @.
const LOCK = /^\S+ \S+ \S+ 00010000 \S+ \S+ +(\d+) @(berth-[0-9a-f]{32})$/;

async function listLocks(): Promise<{ inode: string; name: string }[]> {
  if (process.platform !== "linux") return [];
  const table = await readFile("/proc/net/unix", "utf8");
  return table.split("\n").flatMap((line) => {
    const [, inode, name] = LOCK.exec(line) ?? [];
    return inode !== undefined && name !== undefined ? [{ inode, name }] : [];
  });
}

// Synchronous, because the kernel answers from memory: a promise for each open file costs five times as much processor time.
function findSocketOwners(inodes: readonly string[], isCandidate = (_pid: number) => true): Map<string, number> {
  const owners = new Map<string, number>();
  const missing = new Map(inodes.map((inode) => [`socket:[${inode}]`, inode]));
  if (missing.size === 0) return owners;
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  for (const pid of pids.map(Number).filter(isCandidate)) {
    for (const target of listOpenFiles(pid)) {
      const inode = missing.get(target);
      if (inode === undefined) continue;
      owners.set(inode, pid);
      missing.delete(target);
      if (missing.size === 0) return owners;
    }
  }
  return owners;
}

function* listOpenFiles(pid: number): Generator<string> {
  // Fails for processes of other users and for those that have just ended.
  const read = <T>(list: () => T, otherwise: T) => {
    try {
      return list();
    } catch {
      return otherwise;
    }
  };
  for (const file of read(() => readdirSync(`/proc/${pid}/fd`), [])) yield read(() => readlinkSync(`/proc/${pid}/fd/${file}`), "");
}
