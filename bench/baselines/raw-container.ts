import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openCgroups } from "../../server/drivers/oci/cgroups/cgroups.ts";
import { bundleConfig } from "../../server/drivers/oci/bundle.ts";
import { prepareHostRoot } from "../../server/drivers/oci/filesystem/root.ts";
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
}

export interface RawContainer extends AsyncDisposable {
  pause(): Promise<void>;
  resume(): Promise<void>;
}

const BENCH_CGROUPS = "berth-bench";

export async function openRawContainers({ resources }: Run): Promise<RawContainers> {
  const probe = await probeOci();
  if (!probe.usable) throw new Error(probe.reason);
  const { runtime } = probe;
  const runtimeDir = await daemonRuntime();
  const folder = mkdtempSync(join(tmpdir(), "berth-bench-"));
  const cgroups = openCgroups(`${BENCH_CGROUPS}-${process.pid}`);
  const running = new Set<string>();
  let count = 0;

  function prepare(command: string[]): { id: string; args: (...rest: string[]) => string[] } {
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
      env: { PATH: PLAIN_PATH, HOME: "/home/user" },
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
    async [Symbol.asyncDispose]() {
      for (const id of running) await remove(id);
      rmSync(folder, { recursive: true, force: true });
    },
  });
}
