import type { SandboxId, Template } from "@berth/contract";
import { SECOND } from "../clock.ts";
import { readDaemonActivity } from "../daemon-link/daemon-activity.ts";
import type { DaemonLinks } from "../daemon-link/daemon-links.ts";
import type { Driver, SandboxStats } from "../drivers/driver.ts";

// The resources that sandboxes use now: measured by the driver or, what it does not measure, reported by the daemon in the sandbox.
export interface SandboxMeter {
  // Rejects if the driver does not answer.
  read(sandboxId: SandboxId, templateName: string, timeoutMs: number): Promise<MeterReading>;
}

export interface MeterReading extends SandboxStats {
  // If the processor time is only reported: how many processors the sandbox has, so that it cannot have used more. null if it is measured.
  reportedCpus: number | null;
}

export interface SandboxMeterDeps {
  driver: Pick<Driver, "stats">;
  links: Pick<DaemonLinks, "request">;
  templates: { get(name: string): Template | undefined };
}

const MB = 1024 * 1024;
// The limits of sandboxes whose template is no longer configured.
const UNKNOWN_TEMPLATE = { cpus: 64, memoryMb: 1024 * 1024, diskMb: 16 * 1024 * 1024 };

export function createSandboxMeter({ driver, links, templates }: SandboxMeterDeps): SandboxMeter {
  return {
    async read(sandboxId, templateName, timeoutMs) {
      const stats = await driver.stats(sandboxId, AbortSignal.timeout(timeoutMs));
      if (stats.cpuMs !== null && stats.memoryBytes !== null && stats.diskBytes !== null) return { ...stats, reportedCpus: null };
      const reported = await readDaemonActivity(links, sandboxId, timeoutMs);
      const limits = largestLimits(templates.get(templateName));
      return {
        ...stats,
        cpuMs: stats.cpuMs ?? reported.cpuMs,
        memoryBytes: stats.memoryBytes ?? atMost(limits.memoryMb * MB, reported.memoryBytes),
        diskBytes: stats.diskBytes ?? atMost(limits.diskMb * MB, reported.diskBytes),
        reportedCpus: stats.cpuMs === null ? limits.cpus : null,
      };
    },
  };
}

const NOW_TIMEOUT_MS = 3 * SECOND;

// null: the sandbox has just ended, or the engine does not answer.
export async function readNow(meter: SandboxMeter, { sandboxId, template }: { sandboxId: SandboxId; template: string }) {
  const stats = await meter.read(sandboxId, template, NOW_TIMEOUT_MS).catch(() => null);
  return stats && { cpuMs: stats.cpuMs, memoryBytes: stats.memoryBytes, diskBytes: stats.diskBytes, processes: stats.pids };
}

const atMost = (limit: number, value: number | null): number | null => (value === null ? null : Math.min(limit, value));

// A session may ask for other limits than those of its template.
function largestLimits(template: Template | undefined) {
  const { cpus, memoryMb, diskMb, maxResources: most } = template ?? { ...UNKNOWN_TEMPLATE, maxResources: undefined };
  return {
    cpus: Math.max(cpus, most?.cpus ?? 0),
    memoryMb: Math.max(memoryMb, most?.memoryMb ?? 0),
    diskMb: Math.max(diskMb, most?.diskMb ?? 0),
  };
}
