// Loaded into the server under test with NODE_OPTIONS=--import. It answers each connection to a socket with a sample of the
// process, and records the error that ended the process.
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { isMainThread } from "node:worker_threads";
import type { ServerSample } from "./target.ts";

const path = process.env.FUZZ_PROBE;
// Worker threads of the server load this file too.
if (path !== undefined && isMainThread && process.argv.includes("serve")) {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const server = createServer((socket) => {
    socket.on("error", () => {});
    const longestStallMs = delay.max / 1e6;
    collect();
    const { rss, heapUsed, external } = process.memoryUsage();
    const resources: Record<string, number> = {};
    for (const name of process.getActiveResourcesInfo()) resources[name] = (resources[name] ?? 0) + 1;
    const sample: ServerSample = {
      rssBytes: rss,
      heapBytes: heapUsed + external,
      openFiles: readdirSync("/proc/self/fd").length,
      resources,
      longestStallMs,
    };
    socket.end(JSON.stringify(sample));
    // We caused this garbage collection.
    delay.reset();
  });
  // `berth serve` starts Node again with other flags, and the first one leaves its socket behind.
  rmSync(path, { force: true });
  server.listen(path);
  server.unref();
  process.on("uncaughtExceptionMonitor", (error, origin) => writeFileSync(`${path}.crash`, `${origin}: ${error.stack ?? String(error)}`));
}
