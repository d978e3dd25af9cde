// For user-driver.ts: a process of an ordinary user that runs sandboxes for a test. Each connection to its socket is one call: a line
// with the call, and a line with its result. After a `dial`, the connection leads to the daemon. The caller aborts a call by ending
// its side of the connection, and the process by ending its input.
import { createServer, type Socket } from "node:net";
import { isAppError } from "@berth/contract";
import { createOciDriver } from "../../../server/drivers/oci/oci.ts";
import { findPrivileges } from "../../../server/drivers/oci/privileges/open-privileges.ts";
import { probeOci } from "../../../server/drivers/oci/probe.ts";
import { createLocalEgress } from "../../../server/egress/local-egress.ts";
import { silentLog } from "../../../server/log.ts";
import { readLine } from "./read-line.ts";

const [dataDir = "", runtimeDir = "", socketPath = "", allow = ""] = process.argv.slice(2);

const probe = await probeOci();
if (!probe.usable) {
  console.log(JSON.stringify({ missing: probe.reason }));
} else {
  const { runtime, boundDisks } = probe;
  const driver = createOciDriver({ dataDir, runtimeDir, log: silentLog, runtime, boundDisks, openPrivileges: await findPrivileges() });
  const egress = createLocalEgress({ dataDir, log: silentLog, allow: allow.split(",").filter(Boolean), dialTimeoutMs: 5_000 });
  const parts = { driver, egress, volumes: driver.volumes, liveLimits: driver.liveLimits, images: driver.images };
  const server = createServer({ allowHalfOpen: true }, (connection) => {
    connection.on("error", () => connection.destroy());
    answer(parts, connection).catch(() => connection.destroy());
  });
  server.listen(socketPath, () => console.log(JSON.stringify({ reason: probe.reason, traits: driver.traits })));
  process.stdin.resume().once("end", () => {
    server.close();
    void endAll([egress, driver]);
  });
}

async function endAll(parts: readonly AsyncDisposable[]): Promise<void> {
  for (const part of parts) await part[Symbol.asyncDispose]();
  process.exit();
}

type Call = (...args: unknown[]) => unknown;

async function answer(parts: object, connection: Socket): Promise<void> {
  const [part, method, ...args] = JSON.parse(await readLine(connection)) as [string, string, ...unknown[]];
  const aborted = new AbortController();
  const abort = () => aborted.abort();
  connection.once("end", abort);
  connection.resume();
  const reply = (result: object) => connection.write(`${JSON.stringify(result)}\n`);
  try {
    const value = await (parts as Record<string, Record<string, Call>>)[part]![method]!(...args, aborted.signal);
    connection.off("end", abort);
    if (method !== "dial") return void connection.end(`${JSON.stringify({ value })}\n`);
    const daemon = value as Socket;
    connection.pause();
    daemon.on("error", () => connection.destroy());
    connection.once("close", () => daemon.destroy());
    reply({});
    connection.pipe(daemon).pipe(connection);
  } catch (error) {
    const { code, cause } = isAppError(error) ? error : { code: undefined, cause: undefined };
    connection.end(
      `${JSON.stringify({ error: { code, name: (error as Error).name, message: (error as Error).message, cause: String(cause) } })}\n`,
    );
  }
}
