import { AppError, type SandboxId, type Template } from "@berth/contract";
import type { Log } from "../../log.ts";
import type { SandboxStats } from "../driver.ts";
import { containerName, LABEL, liveLimits, VOLUME_KINDS, volumeName, type ContainerConfig } from "./container.ts";
import { messageOf, type Engine } from "./engine.ts";
import { createPuller } from "./pull.ts";

export type ContainerStatus = "created" | "running" | "paused" | "restarting" | "removing" | "exited" | "dead";

// The containers and volumes of sandboxes, as the Engine manages them. All calls are idempotent.
export interface Containers {
  // undefined if there is no container.
  status(id: SandboxId, signal: AbortSignal): Promise<ContainerStatus | undefined>;
  label(id: SandboxId, label: string, signal: AbortSignal): Promise<string | undefined>;
  list(signal: AbortSignal): Promise<Map<string, ContainerStatus>>;
  // No-op if the Engine has the image.
  fetchImage(image: string, signal: AbortSignal): Promise<void>;
  // The paths that the image declares as volumes. Pulls the image if the Engine does not have it.
  declaredVolumes(image: string, signal: AbortSignal): Promise<string[]>;
  // No-op if the container exists.
  create(id: SandboxId, config: ContainerConfig, signal: AbortSignal): Promise<void>;
  start(id: SandboxId, signal: AbortSignal): Promise<void>;
  stop(id: SandboxId, signal: AbortSignal): Promise<void>;
  // Returns false if the Engine refuses because of the container's state, or because there is no container.
  tryAction(id: SandboxId, action: "pause" | "unpause", signal: AbortSignal): Promise<boolean>;
  // Whether the Engine reports the container as running or paused. If it has ended, logs the last lines of its output.
  isUp(id: SandboxId, signal: AbortSignal): Promise<boolean>;
  remove(id: SandboxId, signal: AbortSignal): Promise<void>;
  removeVolumes(id: SandboxId, signal: AbortSignal): Promise<void>;
  stats(id: SandboxId, signal: AbortSignal): Promise<SandboxStats>;
  // See DriverLiveLimits.
  changeLimits(id: SandboxId, limits: Pick<Template, "cpus" | "memoryMb">, signal: AbortSignal): Promise<void>;
  heldMemoryBytes(id: SandboxId, signal: AbortSignal): Promise<number>;
}

interface Inspected {
  State: { Status: ContainerStatus; ExitCode: number };
  Config: { Labels: Record<string, string> };
}

interface InspectedImage {
  Config?: { Volumes?: object | null };
}

// The daemon ends on SIGTERM. After this time the Engine kills a container that hangs.
const STOP_SECONDS = 5;

export function createContainers({ engine, installation, log }: { engine: Engine; installation: string; log: Log }): Containers {
  const pull = createPuller({ engine, log });
  const pathOf = (id: SandboxId, action = "") => `/containers/${containerName(id)}${action}`;

  async function inspect(id: SandboxId, signal: AbortSignal): Promise<Inspected | undefined> {
    const { status, body } = await engine.call({ method: "GET", path: pathOf(id, "/json"), accept: [404], signal });
    return status === 404 ? undefined : (body as Inspected);
  }

  // Pulls it if the Engine does not have it.
  async function findImage(image: string, signal: AbortSignal): Promise<InspectedImage> {
    const inspectImage = () => engine.call({ method: "GET", path: `/images/${image}/json`, accept: [404], signal });
    let { status, body } = await inspectImage();
    if (status === 404) {
      await pull(image, signal);
      ({ status, body } = await inspectImage());
    }
    if (status === 404) throw failure("image", body);
    return body as InspectedImage;
  }

  // undefined if the container does not run.
  async function engineStats(id: SandboxId, signal: AbortSignal): Promise<EngineStats | undefined> {
    const query = { stream: "false", "one-shot": "true" };
    const { status, body } = await engine.call({ method: "GET", path: pathOf(id, "/stats"), query, accept: [404, 409], signal });
    return status === 200 ? (body as EngineStats) : undefined;
  }

  async function lastOutput(id: SandboxId, signal: AbortSignal): Promise<string> {
    const query = { stdout: "1", stderr: "1", tail: "5" };
    const { body } = await engine.call({ method: "GET", path: pathOf(id, "/logs"), query, accept: [404, 409], signal });
    // The stream has binary frame headers, which are removed here.
    return String(body)
      .replaceAll(/[^\x20-\x7e\n]/g, "")
      .slice(-1000);
  }

  return {
    status: async (id, signal) => (await inspect(id, signal))?.State.Status,
    label: async (id, label, signal) => (await inspect(id, signal))?.Config.Labels[label],

    async list(signal) {
      const filters = JSON.stringify({ label: [`${LABEL.installation}=${installation}`] });
      const { body } = await engine.call({ method: "GET", path: "/containers/json", query: { all: "1", filters }, signal });
      return new Map(
        (body as { Labels: Record<string, string>; State: ContainerStatus }[]).map(({ Labels, State }) => [
          Labels[LABEL.sandbox] ?? "",
          State,
        ]),
      );
    },

    fetchImage: async (image, signal) => void (await findImage(image, signal)),
    declaredVolumes: async (image, signal) => Object.keys((await findImage(image, signal)).Config?.Volumes ?? {}),

    async create(id, config, signal) {
      // `create` and `start` do not pass the signal on: the Engine would continue after an abort, so that the caller's cleanup might
      // run before the container exists.
      const query = { name: containerName(id) };
      const { status, body } = await engine.call({
        method: "POST",
        path: "/containers/create",
        query,
        body: config,
        accept: [404, 409],
      });
      signal.throwIfAborted();
      if (status === 404) throw failure("create", body);
    },

    async start(id, signal) {
      const { status, body } = await engine.call({ method: "POST", path: pathOf(id, "/start"), accept: [304, 404, 409] });
      signal.throwIfAborted();
      if (status >= 400) throw failure("start", body);
    },

    async stop(id, signal) {
      await engine.call({ method: "POST", path: pathOf(id, "/stop"), query: { t: String(STOP_SECONDS) }, accept: [304, 404], signal });
    },

    async tryAction(id, action, signal) {
      const { status, body } = await engine.call({ method: "POST", path: pathOf(id, `/${action}`), accept: [404, 409, 500], signal });
      // For this one state the Engine answers 500 and not 409.
      if (status === 500 && !/is not paused/.test(messageOf(body))) throw failure(action, body);
      return status < 400;
    },

    async isUp(id, signal) {
      const found = await inspect(id, signal);
      if (found?.State.Status === "running" || found?.State.Status === "paused") return true;
      log.warn("docker.sandbox_ended", {
        sandboxId: id,
        status: found?.State.Status,
        exitCode: found?.State.ExitCode,
        output: await lastOutput(id, signal),
      });
      return false;
    },

    async remove(id, signal) {
      // `v` removes anonymous volumes of the Engine. The sandbox's own volumes have names and stay.
      const query = { force: "1", v: "1" };
      for (;;) {
        const { status } = await engine.call({ method: "DELETE", path: pathOf(id), query, accept: [404, 409], signal });
        if (status !== 409) return;
        // Another removal is in progress. Wait for it.
        await engine.call({ method: "POST", path: pathOf(id, "/wait"), query: { condition: "removed" }, accept: [404], signal });
      }
    },

    async removeVolumes(id, signal) {
      for (const kind of VOLUME_KINDS)
        await engine.call({ method: "DELETE", path: `/volumes/${volumeName(id, kind)}`, query: { force: "1" }, accept: [404], signal });
    },

    async stats(id, signal) {
      const stats = await engineStats(id, signal);
      return stats ? readStats(stats) : { memoryBytes: 0, cpuMs: 0, pids: 0, diskBytes: null };
    },

    async changeLimits(id, limits, signal) {
      await engine.call({ method: "POST", path: pathOf(id, "/update"), body: liveLimits(limits), accept: [404], signal });
    },

    async heldMemoryBytes(id, signal) {
      const { usage = 0, stats = {} } = (await engineStats(id, signal))?.memory_stats ?? {};
      const files = (stats.total_inactive_file ?? stats.inactive_file ?? 0) + (stats.total_active_file ?? stats.active_file ?? 0);
      return Math.max(0, usage - files);
    },
  };
}

const failure = (action: string, body: unknown) =>
  new AppError("sandbox_failed", { cause: new Error(`docker: ${action}: ${messageOf(body)}`) });

interface EngineStats {
  memory_stats?: {
    usage?: number;
    stats?: { inactive_file?: number; total_inactive_file?: number; active_file?: number; total_active_file?: number };
  };
  cpu_stats?: { cpu_usage?: { total_usage?: number } };
  pids_stats?: { current?: number };
}

function readStats({ memory_stats: memory, cpu_stats: cpu, pids_stats: pids }: EngineStats): SandboxStats {
  // Page cache that the kernel can drop at any time does not count. The name of the field differs between cgroup v1 and v2.
  const reclaimable = memory?.stats?.total_inactive_file ?? memory?.stats?.inactive_file ?? 0;
  return {
    memoryBytes: Math.max(0, (memory?.usage ?? 0) - reclaimable),
    cpuMs: Math.round((cpu?.cpu_usage?.total_usage ?? 0) / 1e6),
    pids: pids?.current ?? 0,
    diskBytes: null,
  };
}
