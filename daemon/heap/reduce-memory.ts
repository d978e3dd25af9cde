import { childProcess } from "../programs/child-process.ts";

// Every sandbox runs a daemon, and most of the time it only waits and forwards bytes. The optimizing compilers cost 8 MB
// of code and up to 6 MB of heap, and never pay that back here. The baseline compiler takes a quarter of the time of the first
// commands and half a megabyte, to make those after a few dozen a tenth faster. A larger young generation only delays collection.
const V8_FLAGS = ["--no-opt", "--no-maglev", "--no-sparkplug", "--max-semi-space-size=1"];
const PRELOAD_AFTER_MS = 200;

// Call this after the modules of the start are loaded. On the command line the same flags would cost 20 ms: V8 rejects
// the compiled code of Node's own modules when its flags differ from those used to compile them.
export function reduceMemory(): void {
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  for (const flag of V8_FLAGS) setFlagsFromString(flag);
  // Load it soon after the start, so that the first command does not wait for it.
  setTimeout(childProcess, PRELOAD_AFTER_MS).unref();
}
