import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { daemonRuntime } from "../../tests/support/runtime.ts";
import { timed } from "./rounds.ts";

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
  const child = spawn(join(runtime, "bin/node"), [join(runtime, "daemon.cjs")], { env, stdio: "ignore" });
  try {
    return await timed(async () => {
      while (!(await accepts(socket))) await sleep(POLL_MS);
    });
  } finally {
    const exited = once(child, "exit");
    child.kill("SIGKILL");
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
