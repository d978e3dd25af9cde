import { createHash } from "node:crypto";
import { readdir, readFile, readlink, realpath } from "node:fs/promises";
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
  return inode === undefined ? null : ((await findSocketOwner(inode)) ?? "hidden");
}

// Whether a server with another data folder runs on this machine.
export async function otherServersRun(dataDir: string): Promise<boolean> {
  const own = lockName(await realpath(dataDir));
  return (await listLocks()).some(({ name }) => name !== own);
}

// The processes that hold the lock of a data folder, as far as this user may see them.
export async function listLockHolders(): Promise<{ pid: number; holds: (folder: string) => Promise<boolean> }[]> {
  const found = await Promise.all(
    (await listLocks()).map(async ({ inode, name }) => {
      const holds = async (folder: string) => lockName(await realpath(folder).catch(() => folder)) === name;
      return { pid: await findSocketOwner(inode), holds };
    }),
  );
  return found.flatMap(({ pid, holds }) => (pid === undefined ? [] : [{ pid, holds }]));
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

async function findSocketOwner(inode: string): Promise<number | undefined> {
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    // Fails for processes of other users and for those that have just ended.
    const files = await readdir(`/proc/${pid}/fd`).catch((): string[] => []);
    for (const file of files) {
      const target = await readlink(`/proc/${pid}/fd/${file}`).catch(() => "");
      if (target === `socket:[${inode}]`) return Number(pid);
    }
  }
  return undefined;
}
