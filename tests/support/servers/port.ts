import { randomInt } from "node:crypto";
import { createServer } from "node:net";

// Each worker has its own ports, so that none takes the port of a server that another one is restarting. All are below 32768, because
// Linux assigns the ports above to programs that ask for any port, such as another test.
const FIRST = 20_000;
const PER_WORKER = 3_000;
const WORKERS = 4;
const first = FIRST + (Number(process.env.VITEST_POOL_ID ?? 0) % WORKERS) * PER_WORKER;
const given = new Set<number>();

// A free port for a program that is started a moment later, and perhaps restarted.
export async function freePort(address = "127.0.0.1"): Promise<number> {
  for (;;) {
    const port = randomInt(first, first + PER_WORKER);
    if (given.has(port) || !(await isFree(port, address))) continue;
    given.add(port);
    return port;
  }
}

function isFree(port: number, address: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => (error.code === "EADDRINUSE" ? resolve(false) : reject(error)));
    server.listen(port, address, () => server.close(() => resolve(true)));
  });
}
