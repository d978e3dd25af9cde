import { availableParallelism } from "node:os";
import { setFlagsFromString } from "node:v8";

// The flags of Node for the server. It forwards the output of sandboxes, which is garbage a moment later. With its defaults V8 collects
// the whole heap up to four times a second then, for 20 ms each, and its four helper threads leave a machine with two cores none for
// anything else.
export function serverFlags() {
  const helpers = Math.min(4, Math.max(1, availableParallelism() - 1));
  return [
    // Frequent small collections of new objects, 2 ms each, on the main thread: waiting for a helper takes longer.
    // The start keeps most of what it allocates, so smaller collections would copy it several times.
    "--min-semi-space-size=4",
    "--max-semi-space-size=4",
    "--no-parallel-scavenge",
    `--v8-pool-size=${helpers}`,
  ];
}

// A full collection when the heap has quadrupled, because V8 counts the bytes that the server forwards as part of the heap. It is set
// after the start: on the command line it makes V8 reject the compiled code of Node's own modules.
export const setLateFlags = () => setFlagsFromString("--heap-growing-percent=300");

// Compiled code is valid only for the flags that are set when it is stored.
export const resetLateFlags = () => setFlagsFromString("--heap-growing-percent=0");
