import type { Server } from "node:net";

// How the daemon stays small: there is one in every sandbox, and it mostly waits and passes bytes on.

// V8's optimizing compilers never earn back here what they take: 8 MB of program that is read in and up to 6 MB of their
// own. And in a larger nursery garbage only waits longer.
const V8_FLAGS = ["--no-opt", "--no-maglev", "--max-semi-space-size=1"];
const SETTLED_MS = 200;

// To be called when the modules of the start are loaded, and not said on the command line: V8 refuses the compiled form
// of Node's own modules when its flags differ from those they were compiled with, which costs 20 ms.
export function saveMemory(): void {
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  for (const flag of V8_FLAGS) setFlagsFromString(flag);
  // The first command should not wait for it either.
  setTimeout(childProcess, SETTLED_MS).unref();
}

// Node's module for running programs, which the start can do without.
export function childProcess() {
  return process.getBuiltinModule("node:child_process");
}

// What `server.listen` does in a process without workers. It would load Node's `cluster` to find that out, and with it
// a tenth of all that the daemon loads.
export function listen(server: Server, at: { path: string } | { host: "127.0.0.1" | "0.0.0.0"; port: number }): void {
  const [address, port, family] = "path" in at ? ([at.path, -1, -1] as const) : ([at.host, at.port, 4] as const);
  const { _listen2: listenAlone } = server as unknown as { _listen2?: (address: string, port: number, family: number) => void };
  if (listenAlone) listenAlone.call(server, address, port, family);
  else server.listen("path" in at ? { path: at.path } : at);
}
