import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { readFileIfExists } from "./bounded-io/read-small-file.ts";
import { lockDataFolder } from "./data-folder/data-folder-lock.ts";
import { writePrivateFile } from "./data-folder/private-file.ts";

// The data folder belongs to one server at a time. Its name goes with the folder: sandboxes that were made here are
// recognised after a restart, whatever the machine calls itself then.
export interface Host extends AsyncDisposable {
  name: string;
}

export async function claimHost(dataDir: string): Promise<Host> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await using claimed = new AsyncDisposableStack();
  claimed.use(await lockDataFolder(dataDir));
  const name = await nameOf(dataDir);
  const kept = claimed.move();
  return { name, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

export const hostNameFile = (dataDir: string) => join(dataDir, "host-name");

async function nameOf(dataDir: string): Promise<string> {
  const file = hostNameFile(dataDir);
  const known = await readFileIfExists(file);
  if (known !== undefined) return known.trim();
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
