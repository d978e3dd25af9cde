import { rm } from "node:fs/promises";
import { join } from "node:path";
import { AppError, isSandboxId, type SandboxId } from "@berth/contract";
import { DAEMON_SOCKET } from "@berth/contract/daemon.ts";
import type { Log } from "../../log.ts";
import { dialSocketFile } from "../host/dial-socket.ts";
import type { Driver, SandboxCondition, SandboxSpec, SandboxSummary } from "../driver.ts";
import { withDriverErrors } from "../driver-errors.ts";
import { awaitDaemon } from "../daemon-health.ts";
import { createKeyedLock } from "../keyed-lock.ts";
import { coverVolumes, describeContainer, LABEL } from "./container.ts";
import { createContainers, type ContainerStatus } from "./containers.ts";
import { createEngine } from "./engine.ts";
import { createFreezer } from "./freezer.ts";
import { createSandboxStorage } from "./storage.ts";

export interface DockerOptions {
  socketPath: string;
  // Seen by the Engine under the same path.
  dataDir: string;
  installation: string;
  // For templates that name no image.
  image: string;
  // The daemon's runtime on the Engine's machine; null when every image has it at /opt/berth.
  runtimeDir: string | null;
  // Whether what a sandbox writes is bounded by mounts of ours (see storage.ts).
  boundDisks: boolean;
  log: Log;
  startTimeoutMs?: number;
  // How late the Engine may still hear of a pause (see freezer.ts); far longer than was ever seen.
  echoMs?: number;
}

// For what must be taken back after the caller has given up.
const UNDO_MS = 30_000;

// Containers of a Docker Engine. A container holds no data of its own: workspace, home and control folder are below
// {dataDir}/sandboxes/{id}, so one that is gone or outdated is made anew over the same files.
export function createDockerDriver(options: DockerOptions): Driver {
  const { socketPath, dataDir, installation, image, runtimeDir, boundDisks, log, startTimeoutMs = 60_000, echoMs = 5_000 } = options;
  const engine = createEngine(socketPath);
  const containers = createContainers({ engine, installation, log });
  const freezer = createFreezer(containers, echoMs);
  const inTurn = createKeyedLock();
  // A server that is not root can give its folders to nobody else.
  const uid = process.getuid?.() || 1000;
  const places = createSandboxStorage({ dataDir, uid, bounded: boundDisks });

  const describe = (spec: SandboxSpec) => describeContainer(spec, { installation, image, uid, folders: places.of(spec.id), runtimeDir });
  const dial = (id: SandboxId, signal: AbortSignal) => dialSocketFile(join(places.of(id).control, DAEMON_SOCKET), signal);

  // Brings the sandbox up from whatever is there. True when its processes are new ones.
  async function bringUp(spec: SandboxSpec, signal: AbortSignal): Promise<boolean> {
    const { id } = spec;
    const status = await containers.status(id, signal);
    const isUp = status === "running" || status === "paused";
    if (isUp) await freezer.set(id, false, signal);
    else await startAnew(spec, signal);
    await awaitDaemon(
      { dial: (bounded) => dial(id, bounded), alive: () => containers.isUp(id, signal), timeoutMs: startTimeoutMs, pollMs: 10 },
      signal,
    );
    return !isUp;
  }

  async function startAnew(spec: SandboxSpec, signal: AbortSignal): Promise<void> {
    const { id } = spec;
    const config = describe(spec);
    await places.open(id, spec.template.diskMb, signal);
    // The socket of an earlier run would take connections that nobody answers.
    await rm(join(places.of(id).control, DAEMON_SOCKET), { recursive: true, force: true });
    const label = await containers.label(id, LABEL.spec, signal);
    if (label !== config.Labels[LABEL.spec]) {
      if (label !== undefined) await containers.remove(id, signal);
      const declared = await containers.declaredVolumes(config.Image, signal);
      await containers.make(id, coverVolumes(config, declared, spec.template.tmpMb), signal);
    }
    freezer.forget(id);
    await containers.start(id, signal);
  }

  async function remove(id: SandboxId, signal: AbortSignal): Promise<void> {
    // On gVisor what is frozen does not hear that it is killed, and the Engine would wait ten seconds for it. Whether this
    // succeeds is for the removal to show.
    if ((await containers.status(id, signal)) === "paused") await containers.act(id, "unpause", signal).catch(() => {});
    await containers.remove(id, signal);
    freezer.forget(id);
    await containers.removeVolumes(id, signal);
    await places.remove(id);
  }

  async function conditionOf(id: SandboxId, said: ContainerStatus | undefined): Promise<SandboxCondition> {
    const status = freezer.believe(id, said);
    if (status === "running") return "running";
    if (status === "paused") return "frozen";
    return (await places.has(id)) ? "stopped" : "absent";
  }
  const inspect = async (id: SandboxId, signal: AbortSignal) => conditionOf(id, await containers.status(id, signal));

  const step = <Result>(id: SandboxId, signal: AbortSignal, work: () => Promise<Result>) =>
    inTurn(id, () => withDriverErrors(signal, work));

  return {
    name: "docker",
    traits: { hostBound: true, freezes: true, isolates: true, recipe: image },

    create: (spec, signal) =>
      step(spec.id, signal, async () => {
        const before = await inspect(spec.id, signal);
        try {
          await bringUp(spec, signal);
        } catch (error) {
          // Files that were there before the call are not ours to delete.
          if (before === "absent") await remove(spec.id, AbortSignal.timeout(UNDO_MS));
          throw error;
        }
      }),

    pause: (id, signal) => step(id, signal, () => freezer.set(id, true, signal)),

    hibernate: (id, signal) =>
      step(id, signal, async () => {
        // A frozen daemon cannot hear that it is to stop.
        await freezer.set(id, false, signal);
        await containers.stop(id, signal);
        await places.close(id);
      }),

    resume: (spec, signal) =>
      step(spec.id, signal, async () => {
        if ((await inspect(spec.id, signal)) === "absent")
          throw new AppError("sandbox_failed", { message: "The sandbox's files are gone" });
        return { restarted: await bringUp(spec, signal) };
      }),

    destroy: (id, signal) => step(id, signal, () => remove(id, signal)),
    inspect: (id, signal) => withDriverErrors(signal, () => inspect(id, signal)),

    list: (signal) =>
      withDriverErrors(signal, async () => {
        const known = await containers.list(signal);
        const ids = [...new Set([...known.keys(), ...(await places.list())])].filter(isSandboxId);
        return await Promise.all(ids.map(async (id): Promise<SandboxSummary> => ({ id, condition: await conditionOf(id, known.get(id)) })));
      }),

    stats: (id, signal) => containers.stats(id, signal),
    dial,

    async [Symbol.asyncDispose]() {
      await engine[Symbol.asyncDispose]();
    },
  };
}
