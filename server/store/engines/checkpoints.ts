import { Worker } from "node:worker_threads";

// Copies SQLite's write-ahead log into the database in a thread of its own. SQLite would do it in the commit that makes the log long: it
// writes a thousand pages and syncs two files then, which would hold up the event loop for 5 ms, on a busy disk for far longer.
export interface Checkpoints extends AsyncDisposable {
  // Must be called after every statement that writes.
  wrote(): void;
}

// A create is six statements, which write some 60 kB.
const STATEMENTS = 300;
// A small heap: the thread only makes calls of SQLite.
const LIMITS = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 };

export function createCheckpoints(file: string): Checkpoints {
  // Started with the first checkpoint, because most processes that open a store write little.
  let worker: Worker | undefined;
  let isRunning = false;
  let statements = 0;

  function start(): Worker {
    const started = new Worker(new URL("./checkpoint-worker.js", import.meta.url), { workerData: file, resourceLimits: LIMITS });
    started.unref();
    started.on("message", () => (isRunning = false));
    // It ends if it cannot open the file. Without it, SQLite copies the log itself when it is much longer.
    started.on("error", () => {});
    started.once("exit", () => {
      worker = undefined;
      isRunning = false;
    });
    return started;
  }

  const order = (message: "checkpoint" | "end") => (worker ??= start()).postMessage(message);

  return {
    wrote() {
      statements++;
      if (statements < STATEMENTS || isRunning) return;
      statements = 0;
      isRunning = true;
      order("checkpoint");
    },
    async [Symbol.asyncDispose]() {
      if (!worker) return;
      const exited = new Promise((resolve) => worker?.once("exit", resolve));
      worker.ref();
      order("end");
      await exited;
    },
  };
}
