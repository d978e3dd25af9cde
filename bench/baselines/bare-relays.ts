import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { openPty } from "../../daemon/programs/pty/pty.ts";
import type { Run } from "../support/benchmark.ts";
import { startPart } from "./start-part.ts";

// A pseudo-terminal behind two processes that do nothing but forward bytes, over TCP and then over a Unix socket. The server and the
// daemon are such processes too, so no terminal that is reached through them is faster than this one.
export interface BareRelays {
  // Runs a command on a pseudo-terminal in the folder. The socket carries its input and output.
  open(command: string): Promise<Socket>;
}

export async function startBareRelays(run: Run, folder: string): Promise<BareRelays> {
  const path = join(folder, "terminal.sock");
  await startPart(run, import.meta.filename, ["terminal", path], folder);
  const port = Number((await startPart(run, import.meta.filename, ["relay", path])).printed);
  return {
    async open(command) {
      const socket = connect(port, "127.0.0.1").setNoDelay(true);
      await once(socket, "connect");
      socket.write(`${command}\n`);
      return socket;
    },
  };
}

if (import.meta.main) {
  const [, , part, path = ""] = process.argv;
  if (part === "relay") serveRelay(path);
  else serveTerminals(path);
}

function serveRelay(path: string): void {
  const server = createServer({ noDelay: true }, (caller) => {
    const terminal = connect(path);
    for (const socket of [caller, terminal]) socket.on("error", () => socket.destroy());
    caller.pipe(terminal).pipe(caller);
  }).listen(0, "127.0.0.1", () => console.log((server.address() as { port: number }).port));
}

function serveTerminals(path: string): void {
  createServer((caller) => {
    caller.once("data", (line: Buffer) => {
      const pty = openPty({
        command: ["/bin/sh", "-c", line.toString().trim()],
        cwd: process.cwd(),
        cols: 80,
        rows: 24,
        env: { PATH: process.env.PATH ?? "", TERM: "xterm" },
        // The bytes are only valid during the call.
        onOutput: (bytes) => void caller.write(Buffer.from(bytes)),
        onExit: () => caller.destroy(),
      });
      caller.on("data", (bytes: Buffer) => void pty.write(bytes));
      caller.once("close", () => pty.kill("SIGKILL"));
    });
    caller.on("error", () => caller.destroy());
  }).listen(path, () => console.log("listening"));
}
