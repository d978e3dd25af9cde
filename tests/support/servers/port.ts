import { randomInt } from "node:crypto";
import { createServer } from "node:net";

// A port that nobody listens on at the moment, for a program that is started a moment later, and again after it was killed.
// Linux hands out the ports from 32768 on by itself, to whoever asks for any: of these, another test could get it meanwhile.
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
