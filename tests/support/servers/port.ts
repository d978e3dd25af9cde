import { randomInt } from "node:crypto";
import { createServer } from "node:net";

// A free port for a program that is started a moment later, and perhaps restarted. It is below 32768, because Linux assigns
// the ports above to programs that ask for any port, such as another test.
export async function freePort(address = "127.0.0.1"): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_768);
    if (await isFree(port, address)) return port;
  }
}

function isFree(port: number, address: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => (error.code === "EADDRINUSE" ? resolve(false) : reject(error)));
    server.listen(port, address, () => server.close(() => resolve(true)));
  });
}
