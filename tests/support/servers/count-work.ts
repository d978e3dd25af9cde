// Loaded into a server with `node --import`, in every thread. It appends a line to the file BERTH_COUNT_FILE for each query of
// SQLite and each sync of a file that a request causes, with the number of that request, and for each program that the server
// starts. Work of the server's timers is not counted.
import { AsyncLocalStorage } from "node:async_hooks";
import childProcess from "node:child_process";
import fs from "node:fs";
import { Server } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { StatementSync } from "node:sqlite";

// An open file, because the counted functions must not be used for counting.
const output = fs.openSync(process.env["BERTH_COUNT_FILE"]!, "a");
const count = (line: string) => fs.writeSync(output, `${line.replaceAll(/\s+/g, " ").slice(0, 300)}\n`);

const requests = new AsyncLocalStorage<number>();
let requestCount = 0;
const countForRequest = (line: string) => {
  const request = requests.getStore();
  if (request !== undefined) count(`${request} ${line}`);
};

const emit = Server.prototype.emit as (...args: unknown[]) => boolean;
Server.prototype.emit = function (this: Server, ...args: unknown[]) {
  const send = () => emit.apply(this, args);
  return args[0] === "request" ? requests.run(++requestCount, send) : send();
};

// Calls `before` before every call of the method.
function watch<Holder extends object>(holder: Holder, name: string, before: (self: unknown, args: unknown[]) => void): void {
  const methods = holder as Record<string, (...args: unknown[]) => unknown>;
  const original = methods[name]!;
  methods[name] = function (this: unknown, ...args: unknown[]) {
    before(this, args);
    return original.apply(this, args);
  };
}

for (const name of ["all", "get", "run", "iterate"])
  watch(StatementSync.prototype, name, (statement) => countForRequest(`query ${(statement as StatementSync).sourceSQL}`));
for (const name of ["fsync", "fsyncSync", "fdatasync", "fdatasyncSync"]) watch(fs, name, () => countForRequest("sync"));
watch(childProcess.ChildProcess.prototype, "spawn", (_process, [options]) => count(`program ${(options as { file: string }).file}`));
for (const name of ["spawnSync", "execFileSync", "execSync"])
  watch(childProcess, name, (_module, [file]) => count(`program ${String(file)}`));
// Another process starts the server's programs, by its orders (server/drivers/host/run-worker.ts).
const { fork } = childProcess;
childProcess.fork = ((...args: Parameters<typeof fork>) => {
  const child = fork(...args);
  watch(child, "send", (_child, [order]) => {
    const { command } = order as { command?: string };
    if (command !== undefined) count(`program ${command}`);
  });
  return child;
}) as typeof fork;
syncBuiltinESMExports();
