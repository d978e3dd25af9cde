import { createHash } from "node:crypto";
import { readdir, readFile, readlink, realpath } from "node:fs/promises";
import { createServer } from "node:net";

// The data folder belongs to one process at a time: a server, or a command that must be alone. The lock is an abstract
// socket: the kernel frees it however the process dies, so there is no stale lock to clear away. Only Linux has these.

// Rejects with a sentence when another process has the lock. The folder must exist.
export async function lockDataFolder(dataDir: string): Promise<AsyncDisposable> {
  if (process.platform !== "linux") return { [Symbol.asyncDispose]: async () => {} };
  const folder = await realpath(dataDir);
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      reject(
        error.code === "EADDRINUSE"
          ? new Error(`Another server uses the data folder ${folder}; stop it, or set BERTH_DATA_DIR to another folder.`)
          : error,
      );
    });
    server.listen({ path: `\0${nameOf(folder)}`, exclusive: true }, resolve);
  });
  server.unref();
  return { [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) };
}

// The process that has the lock of the data folder: null when there is none, `hidden` when this user may not see which it
// is, or when it runs in a container that shares only the network with us.
export async function findLockHolder(dataDir: string): Promise<number | "hidden" | null> {
  const name = nameOf(await realpath(dataDir));
  const inode = (await listLocks()).find((lock) => lock.name === name)?.inode;
  return inode === undefined ? null : ((await findSocketOwner(inode)) ?? "hidden");
}

// Whether a server with another data folder runs on this machine.
export async function otherServersRun(dataDir: string): Promise<boolean> {
  const own = nameOf(await realpath(dataDir));
  return (await listLocks()).some(({ name }) => name !== own);
}

const nameOf = (folder: string) => `berth-${createHash("sha256").update(folder).digest("hex").slice(0, 32)}`;

// From the kernel's table of Unix sockets: those that listen (00010000), with the inode and the name, whose leading NUL is
// written as @.
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
    // Those of other users cannot be looked into, and any may end meanwhile.
    const files = await readdir(`/proc/${pid}/fd`).catch((): string[] => []);
    for (const file of files) {
      const target = await readlink(`/proc/${pid}/fd/${file}`).catch(() => "");
      if (target === `socket:[${inode}]`) return Number(pid);
    }
  }
  return undefined;
}
