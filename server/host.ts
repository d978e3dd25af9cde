import { createHash, randomBytes } from "node:crypto";
import { mkdir, readFile, realpath } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { writePrivateFile } from "./private-file.ts";

// The data folder belongs to one server at a time. Its name goes with the folder: sandboxes that were made here are
// recognised after a restart, whatever the machine calls itself then.
export interface Host extends AsyncDisposable {
  name: string;
}

export async function claimHost(dataDir: string): Promise<Host> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const release = await lock(await realpath(dataDir));
  return { name: await nameOf(dataDir), [Symbol.asyncDispose]: release };
}

// An abstract socket: the kernel frees it however the process dies, so there is no stale lock to clear away.
async function lock(folder: string): Promise<() => Promise<void>> {
  if (process.platform !== "linux") return async () => {};
  const server = createServer((socket) => socket.destroy());
  const name = `\0berth-${createHash("sha256").update(folder).digest("hex").slice(0, 32)}`;
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      reject(
        error.code === "EADDRINUSE"
          ? new Error(`Another server uses the data folder ${folder}; stop it, or set BERTH_DATA_DIR to another folder.`)
          : error,
      );
    });
    server.listen({ path: name, exclusive: true }, resolve);
  });
  server.unref();
  return () => new Promise((resolve) => server.close(() => resolve()));
}

export const hostNameFile = (dataDir: string) => join(dataDir, "host-name");

async function nameOf(dataDir: string): Promise<string> {
  const file = hostNameFile(dataDir);
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const name = `${hostname()}-${randomBytes(4).toString("hex")}`;
  await writePrivateFile(file, `${name}\n`);
  return name;
}

// A port that nobody listens on at the moment.
export async function freePort(address: string): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, address, resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
