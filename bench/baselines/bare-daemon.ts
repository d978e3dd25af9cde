import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, watch } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { daemonRuntime } from "../../tests/support/runtime.ts";
import { timed } from "../support/rounds.ts";

const POLL_MS = 1;

// How long the daemon takes on the host, without a sandbox, from its start until its socket accepts a connection.
export async function startBareDaemon(): Promise<number> {
  const runtime = await daemonRuntime();
  const folder = mkdtempSync(join(tmpdir(), "berth-bench-"));
  for (const name of ["workspace", "home"]) mkdirSync(join(folder, name));
  const socket = join(folder, "daemon.sock");
  const env = {
    BERTH_SOCKET: socket,
    BERTH_WORKSPACE: join(folder, "workspace"),
    BERTH_HOME: join(folder, "home"),
    BERTH_TOKEN_HASH: createHash("sha256").digest("hex"),
    PATH: process.env.PATH,
  };
  const watcher = watch(folder);
  const created = once(watcher, "change");
  // Starts the daemon as process 1 of a sandbox does. It gets a process group of its own, so that the script and the daemon end
  // together.
  const child = spawn("/bin/sh", [join(runtime, "init.sh")], { env, stdio: "ignore", detached: true });
  try {
    return await timed(async () => {
      await created;
      while (!(await accepts(socket))) await sleep(POLL_MS);
    });
  } finally {
    watcher.close();
    const exited = once(child, "exit");
    process.kill(-child.pid!, "SIGKILL");
    await exited;
    rmSync(folder, { recursive: true });
  }
}

function accepts(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
