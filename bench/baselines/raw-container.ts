import { createHash } from "node:crypto";
import { once } from "node:events";
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { DAEMON_SOCKET, TOKEN_HEADER } from "@berth/contract/daemon.ts";
import { openCgroups } from "../../server/drivers/oci/cgroups/cgroups.ts";
import { bundleConfig } from "../../server/drivers/oci/bundle.ts";
import { prepareHostRoot } from "../../server/drivers/oci/filesystem/root.ts";
import { DAEMON_COMMAND, DAEMON_ENV } from "../../server/drivers/oci/launch.ts";
import { ROOTS_OF_ROOT } from "../../server/drivers/oci/privileges/privileges.ts";
import { probeOci } from "../../server/drivers/oci/probe.ts";
import { kindOf } from "../../server/drivers/oci/runtime/runtime-kinds.ts";
import { pairMappings } from "../../server/drivers/oci/users/id-mappings.ts";
import { pickUserIds, USER } from "../../server/drivers/oci/users/user-ids.ts";
import { PLAIN_PATH } from "../../server/drivers/host/run.ts";
import { DEFAULT_TEMPLATE } from "../../server/templates.ts";
import { daemonRuntime } from "../../tests/support/runtime.ts";
import type { Run } from "../support/benchmark.ts";
import { runProgram } from "../support/run-program.ts";

// The container runtime without Berth, with the bundle of a sandbox.
export interface RawContainers extends AsyncDisposable {
  // `runc run` of a command to its end. Returns its output.
  run(command: string[]): Promise<string>;
  // `runc run --detach` of a container that sleeps.
  start(): Promise<RawContainer>;
  // A whole sandbox, from `runc run --detach` until it is killed: its daemon starts, is asked for its health, is given to a session, and
  // runs the command if there is one.
  runSandbox(command?: string): Promise<void>;
}

export interface RawContainer extends AsyncDisposable {
  pause(): Promise<void>;
  resume(): Promise<void>;
}

const BENCH_CGROUPS = "berth-bench";
const TOKEN = "bench";
const POLL_MS = 2;

export async function openRawContainers({ resources }: Run): Promise<RawContainers> {
  const probe = await probeOci();
  if (!probe.usable) throw new Error(probe.reason);
  const { runtime } = probe;
  const runtimeDir = await daemonRuntime();
  const folder = mkdtempSync(join(tmpdir(), "berth-bench-"));
  const cgroups = openCgroups(`${BENCH_CGROUPS}-${process.pid}`);
  const running = new Set<string>();
  let count = 0;

  function prepare(
    command: string[],
    env: Record<string, string> = { PATH: PLAIN_PATH, HOME: "/home/user" },
  ): { id: string; args: (...rest: string[]) => string[] } {
    const id = `raw-${++count}`;
    const bundle = join(folder, id);
    const userIds = pickUserIds(new Set());
    const path = (name: string) => {
      mkdirSync(join(bundle, name), { recursive: true });
      chownSync(join(bundle, name), userIds.user, userIds.user);
      return join(bundle, name);
    };
    const config = bundleConfig({
      template: DEFAULT_TEMPLATE,
      kind: kindOf(runtime),
      root: prepareHostRoot(ROOTS_OF_ROOT),
      hasHostPrograms: true,
      workspace: path("workspace"),
      home: path("home"),
      egress: path("egress"),
      runtimeDir,
      user: { uid: USER, gid: USER },
      namespace: { mappings: pairMappings(userIds) },
      group: cgroups.groupOf(id),
      env,
      args: command,
    });
    writeFileSync(join(bundle, "config.json"), JSON.stringify(config));
    running.add(id);
    return { id, args: (...rest) => ["--root", join(bundle, "state"), ...kindOf(runtime).flags, ...rest] };
  }

  async function remove(id: string): Promise<void> {
    await cgroups.kill(id);
    await cgroups.remove(id);
    rmSync(join(folder, id), { recursive: true, force: true });
    running.delete(id);
  }

  return resources.own<RawContainers>({
    async run(command) {
      const { id, args } = prepare(command);
      const output = await runProgram(runtime, args("run", "--bundle", join(folder, id), id));
      rmSync(join(folder, id), { recursive: true, force: true });
      running.delete(id);
      return output;
    },
    async start() {
      const { id, args } = prepare(["/bin/sleep", "100000"]);
      await runProgram(runtime, args("run", "--detach", "--bundle", join(folder, id), id), { quiet: true });
      return {
        pause: async () => void (await runProgram(runtime, args("pause", id))),
        resume: async () => void (await runProgram(runtime, args("resume", id))),
        [Symbol.asyncDispose]: () => remove(id),
      };
    },
    async runSandbox(command) {
      const { id, args } = prepare(DAEMON_COMMAND, { ...DAEMON_ENV, BERTH_TOKEN_HASH: createHash("sha256").update(TOKEN).digest("hex") });
      const pidFile = join(folder, id, "init.pid");
      await runProgram(runtime, args("run", "--detach", "--pid-file", pidFile, "--bundle", join(folder, id), id), { quiet: true });
      await callDaemon(`/proc/${readFileSync(pidFile, "utf8").trim()}/root/run/berth/${DAEMON_SOCKET}`, command);
      await remove(id);
    },
    async [Symbol.asyncDispose]() {
      for (const id of running) await remove(id);
      rmSync(folder, { recursive: true, force: true });
    },
  });
}

// Makes the calls that every daemon gets first.
async function callDaemon(socketPath: string, command: string | undefined): Promise<void> {
  while (!existsSync(socketPath)) await sleep(POLL_MS);
  const call = async (method: string, path: string, body?: object) => {
    const headers = body ? { [TOKEN_HEADER]: TOKEN, "content-type": "application/json" } : {};
    const sent = request({ socketPath, method, path, headers, agent: false }).end(body && JSON.stringify(body));
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    const answer = await text(response);
    if (body && response.statusCode !== 200) throw new Error(`${method} ${path} answered ${response.statusCode}: ${answer}`);
  };
  // Without the token, as a driver asks.
  await call("GET", "/health");
  await call("POST", "/internal/start", { env: {}, agent: null, autoStartAgent: false });
  if (command !== undefined) await call("POST", "/exec", { command });
}
