import { readFile } from "node:fs/promises";
import type { Clock } from "@berth/server/clock.ts";
import type { Config } from "@berth/server/config/config.ts";
import { hostNameFile } from "@berth/server/data-folder/claim-host.ts";
import type { SandboxStats } from "@berth/server/drivers/driver.ts";
import { openDriver } from "@berth/server/drivers/index.ts";
import { silentLog } from "@berth/server/log.ts";
import type { Store } from "@berth/server/store/open.ts";
import { listSessionDetails, type SessionDetails } from "@berth/server/store/sessions/listing/details.ts";
import { isAtSite, type Site } from "@berth/server/store/sessions/session.ts";
import { createSandboxMeter } from "@berth/server/usage/sandbox-meter.ts";
import { openDaemonLinks, openSecrets } from "../installation/daemon-access.ts";
import { readTemplates } from "../installation/templates.ts";

export interface Measured {
  session: SessionDetails;
  // The share of one processor since the previous sample; null if there is none.
  cpuPercent: number | null;
  memoryBytes: number | null;
  processes: number | null;
}

export interface Sampler extends AsyncDisposable {
  // The live sessions, the busiest first. Sandboxes on other machines are listed without their use of resources.
  sample(): Promise<Measured[]>;
}

const STATS_TIMEOUT_MS = 5_000;

export async function openSampler(config: Config, store: Store, clock: Clock, limit: number): Promise<Sampler> {
  const driver = await openDriver({ ...config, allowUnisolated: true }, silentLog);
  const host = driver.traits.hostBound ? (await readFile(hostNameFile(config.dataDir), "utf8").catch(() => "")).trim() : null;
  const site: Site = { driver: driver.name, host };
  const links = openDaemonLinks({ store, driver, secrets: await openSecrets(config) });
  const meter = createSandboxMeter({ driver, links, templates: readTemplates(config) });
  let before = new Map<string, { cpuMs: number; atMs: number }>();

  // null: the sandbox has just ended, or the engine does not answer. The daemon of a paused sandbox does not run.
  async function statsOf({ sandboxId, template, status }: SessionDetails): Promise<SandboxStats | null> {
    const stats =
      status === "running"
        ? meter.read(sandboxId, template, STATS_TIMEOUT_MS)
        : driver.stats(sandboxId, AbortSignal.timeout(STATS_TIMEOUT_MS));
    return stats.catch(() => null);
  }

  return {
    async sample() {
      const sessions = await listSessionDetails(store.db, { limit });
      const now = new Map<string, { cpuMs: number; atMs: number }>();
      const measured = await Promise.all(
        sessions.map(async (session) => {
          const stats = isAtSite(session, site) ? await statsOf(session) : null;
          const last = before.get(session.sandboxId);
          const atMs = clock.now();
          if (stats?.cpuMs != null) now.set(session.sandboxId, { cpuMs: stats.cpuMs, atMs });
          const cpuPercent = stats?.cpuMs != null && last ? percent(stats.cpuMs - last.cpuMs, atMs - last.atMs) : null;
          return { session, cpuPercent, memoryBytes: stats?.memoryBytes ?? null, processes: stats?.pids ?? null };
        }),
      );
      before = now;
      return measured.toSorted((a, b) => (b.cpuPercent ?? -1) - (a.cpuPercent ?? -1) || (b.memoryBytes ?? 0) - (a.memoryBytes ?? 0));
    },
    async [Symbol.asyncDispose]() {
      await links[Symbol.asyncDispose]();
      await driver[Symbol.asyncDispose]();
    },
  };
}

// A sandbox that was restarted counts from zero again.
const percent = (usedMs: number, elapsedMs: number): number | null => (usedMs < 0 || elapsedMs <= 0 ? null : (100 * usedMs) / elapsedMs);
