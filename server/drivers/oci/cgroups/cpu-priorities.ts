import { availableParallelism } from "node:os";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createIdleProcessors, type IdleProcessorsOptions } from "../../../idle-processors.ts";
import type { Cgroups } from "./cgroups.ts";

// Moves sandboxes that use much processor time to the background class and back, so that they do not delay the server and the
// sandboxes whose users type or run short commands. While other programs keep the machine busy, all sandboxes are in the foreground.
export interface CpuPriorities {
  // Compares the use since the last call. To be called periodically. No-op if the last call was a moment ago.
  update(): Promise<void>;
  // The weight of this sandbox has changed, so the one that is known is not restored.
  forgetWeight(id: string): void;
}

export interface CpuPrioritiesOptions extends IdleProcessorsOptions {
  cgroups: Pick<Cgroups, "cpuMs" | "closeCpu" | "isBackground" | "enterBackground" | "leaveBackground">;
  list(): string[];
  cores?: number;
}

interface Sandbox {
  cpuMs: number;
  readAtMs: number;
  isBackground: boolean;
  // The weight to be restored. undefined if another server has moved the sandbox.
  weight: string | undefined;
  busyAtMs: number;
}

// A sandbox that uses less than this share of a core does not count as active.
const ACTIVE_LOAD = 0.01;
// The kernel counts idle time in steps of 10 ms.
const MIN_PERIOD_MS = 100;
// Work often pauses for a moment, such as between two requests of a flood.
const CALM_MS = 10_000;
// If other programs of the host leave less than this share of the processors, a sandbox in the background would hardly run.
const MIN_SHARE_LEFT = 1 / 8;
// How many are looked at in one iteration of the event loop, about 30 µs each.
const SANDBOXES_PER_TURN = 16;

// The load, in cores, above which sandboxes belong into the background: half of an equal share. Those in the foreground therefore
// use at most half of the processors together, and leave the rest to those in the background.
export const backgroundLimit = (loads: readonly number[], cores: number): number =>
  cores / 2 / Math.max(1, loads.filter((load) => load >= ACTIVE_LOAD).length);

export function createCpuPriorities(options: CpuPrioritiesOptions): CpuPriorities {
  const { cgroups, list, cores = availableParallelism() } = options;
  const { nowMs = () => performance.now() } = options;
  const idleProcessors = createIdleProcessors(options);
  let sandboxes = new Map<string, Sandbox>();
  let updatedAtMs = nowMs();
  let crowdedAtMs = -Infinity;
  let isWatchingHost = false;

  function read(id: string): { sandbox: Sandbox; load: number } {
    const known = sandboxes.get(id);
    const [cpuMs, readAtMs] = [cgroups.cpuMs(id), nowMs()];
    const { weight, busyAtMs = readAtMs } = known ?? {};
    const load = known === undefined ? 0 : Math.max(0, cpuMs - known.cpuMs) / Math.max(1, readAtMs - known.readAtMs);
    // Another process may have moved it, or it has a new group because it was started again. One that was in the foreground and is
    // not active stays there.
    const isBackground = known?.isBackground === false && load < ACTIVE_LOAD ? false : cgroups.isBackground(id);
    return { sandbox: { cpuMs, readAtMs, isBackground, weight, busyAtMs }, load };
  }

  function move(id: string, sandbox: Sandbox, isBusy: boolean): void {
    const isCrowded = sandbox.readAtMs - crowdedAtMs < CALM_MS;
    if (isBusy) sandbox.busyAtMs = sandbox.readAtMs;
    if (isBusy && !isCrowded && !sandbox.isBackground) {
      sandbox.weight = cgroups.enterBackground(id);
      sandbox.isBackground = sandbox.weight !== undefined;
    } else if (sandbox.isBackground && (isCrowded || sandbox.readAtMs - sandbox.busyAtMs >= CALM_MS)) {
      cgroups.leaveBackground(id, sandbox.weight);
      sandbox.isBackground = false;
    }
  }

  // Reading the idle time of the machine takes longer than looking at a sandbox, so only while there is one in the background. One that
  // another server has moved counts from the second look.
  function watchHost(loads: ReadonlyMap<string, number>): void {
    if (!isWatchingHost) return;
    const inBackground = [...sandboxes].filter(([, { isBackground }]) => isBackground).map(([id]) => loads.get(id)!);
    const leftCores = inBackground.reduce((sum, load) => sum + load, idleProcessors());
    if (inBackground.length > 0 && leftCores < cores * MIN_SHARE_LEFT) crowdedAtMs = nowMs();
  }

  return {
    async update() {
      if (nowMs() - updatedAtMs < MIN_PERIOD_MS) return;
      updatedAtMs = nowMs();
      const seen = new Map<string, Sandbox>();
      const loads = new Map<string, number>();
      for (const [index, id] of list().entries()) {
        if (index > 0 && index % SANDBOXES_PER_TURN === 0) await nextTurn();
        const { sandbox, load } = read(id);
        seen.set(id, sandbox);
        loads.set(id, load);
      }
      for (const id of sandboxes.keys()) if (!seen.has(id)) cgroups.closeCpu(id);
      sandboxes = seen;
      watchHost(loads);
      const limit = backgroundLimit([...loads.values()], cores);
      for (const [id, sandbox] of seen) move(id, sandbox, loads.get(id)! > limit);
      const wasWatching = isWatchingHost;
      isWatchingHost = [...seen.values()].some(({ isBackground }) => isBackground);
      // The next look measures from here.
      if (isWatchingHost && !wasWatching) idleProcessors();
    },
    forgetWeight(id) {
      const known = sandboxes.get(id);
      if (known) known.weight = undefined;
    },
  };
}
