// The daemon that runs in every sandbox.
import { chmodSync, rmSync } from "node:fs";
import { join } from "node:path";
import { openDaemon } from "./daemon.ts";
import { collectWhenIdle } from "./heap/collect-when-idle.ts";
import { reduceMemory } from "./heap/reduce-memory.ts";
import { compileAtOnce, rehearseStart } from "./heap/rehearse-start.ts";
import { shareHeap } from "./heap/share-heap.ts";
import { listen } from "./http/listen.ts";
import { createDaemonServer } from "./http/server.ts";
import { childProcess } from "./programs/child-process.ts";

const { startupSnapshot } = process.getBuiltinModule("node:v8");

// It is not urgent, and the first commands of a sandbox come first.
const SHARE_HEAP_AFTER_MS = 1000;

// build.ts makes a snapshot of the heap with all modules loaded, from which Node starts the daemon faster (init.sh).
if (startupSnapshot.isBuildingSnapshot()) {
  childProcess();
  void rehearseStart().then(compileAtOnce);
  startupSnapshot.setDeserializeMainFunction(() => {
    start();
    setTimeout(shareHeap, SHARE_HEAP_AFTER_MS).unref();
  });
} else {
  // Node cannot reap orphans as process 1, but a shell can (init.sh). Drivers start init.sh directly, because replacing the
  // process here costs a second start of Node.
  if (process.pid === 1 && process.execve)
    process.execve(shellOfInit(), ["sh", join(import.meta.dirname, "init.sh")], definedOnly(process.env));
  reduceMemory();
  start();
}

// Ours finds its libraries only in a sandbox (portable-programs/).
function shellOfInit(): string {
  return import.meta.dirname === "/opt/berth" ? "/opt/berth/lib/sh" : "/bin/sh";
}

function start(): void {
  try {
    main();
  } catch (error) {
    fail(error instanceof Error ? error.message : String(error));
  }
}

function main(): void {
  const { BERTH_SOCKET, BERTH_LISTEN } = process.env;
  if (!BERTH_SOCKET && !BERTH_LISTEN) fail("Set BERTH_SOCKET or BERTH_LISTEN to the address to listen on");
  const server = createDaemonServer();
  const daemon = openDaemon(process.env, server);
  collectWhenIdle(server);

  if (BERTH_SOCKET) {
    rmSync(BERTH_SOCKET, { force: true });
    server.once("listening", () => chmodSync(BERTH_SOCKET, 0o666));
    listen(server, { path: BERTH_SOCKET });
  } else {
    const [host, port] = splitAddress(BERTH_LISTEN ?? "");
    server.listen(port, host);
  }
  server.on("error", (error) =>
    server.listening ? console.error("A connection could not be accepted:", error) : fail(`Cannot listen: ${error.message}`),
  );
  // The sandbox ends with its daemon, and so does everything that people run there. An error that no connection owns is the smaller evil.
  process.on("uncaughtException", (error) => console.error("An error was not caught:", error));

  for (const signal of ["SIGTERM", "SIGINT"] as const)
    process.on(signal, () => {
      daemon.stop();
      process.exit(0);
    });
}

function splitAddress(address: string): [host: string, port: number] {
  const colon = address.lastIndexOf(":");
  return [address.slice(0, colon).replace(/^\[|\]$/g, ""), Number(address.slice(colon + 1))];
}

function definedOnly(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined));
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
