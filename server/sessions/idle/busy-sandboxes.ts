import type { SandboxId } from "@berth/contract";
import { SECOND, type Clock } from "../../clock.ts";
import type { Driver } from "../../drivers/driver.ts";
import type { Store } from "../../store/open.ts";
import { sessionsWithIdleTimeout, type RunningSession } from "../../store/sessions/idle.ts";
import type { Site } from "../../store/sessions/session.ts";
import type { Templates } from "../../templates.ts";
import { BACKGROUND, forEachConcurrently } from "../background/for-each-concurrently.ts";
import type { Activity } from "./activity.ts";
import type { AgentActivity } from "./agent-activity.ts";

// Notes the use of sandboxes that compute, for templates with `busyCounts`. If the driver does not measure the processor
// time (Kubernetes), the daemon reports it.
export interface BusySandboxes {
  // Compares with the sample before. To be called several times within the shortest idle timeout.
  sample(): Promise<void>;
}

export interface BusySandboxesDeps {
  store: Store;
  driver: Pick<Driver, "stats">;
  templates: Templates;
  activity: Pick<Activity, "note">;
  agentActivity: Pick<AgentActivity, "cpuMs">;
  site: Site;
  clock: Clock;
}

// A share of one processor. Editors' language servers and file watchers need less while nothing happens.
const BUSY_SHARE = 0.05;
const STATS_TIMEOUT_MS = 5 * SECOND;

export function createBusySandboxes({ store, driver, templates, activity, agentActivity, site, clock }: BusySandboxesDeps): BusySandboxes {
  const names = [...templates.values()].filter(({ busyCounts }) => busyCounts).map(({ name }) => name);
  let before = new Map<SandboxId, Sample>();

  async function measure(session: RunningSession, samples: Map<SandboxId, Sample>): Promise<void> {
    const { sandboxId } = session;
    const stats = await driver.stats(sandboxId, AbortSignal.timeout(STATS_TIMEOUT_MS)).catch(() => null);
    const cpuMs = stats?.cpuMs ?? (await agentActivity.cpuMs(sandboxId));
    if (cpuMs === null) return;
    const sample = { cpuMs, atMs: clock.now() };
    samples.set(sandboxId, sample);
    const last = before.get(sandboxId);
    if (last && sample.cpuMs - last.cpuMs > BUSY_SHARE * (sample.atMs - last.atMs)) activity.note({ ...session, idleAt: session.idleAtMs });
  }

  return {
    async sample() {
      if (names.length === 0) return;
      const samples = new Map<SandboxId, Sample>();
      const sessions = await sessionsWithIdleTimeout(store.db, site, names);
      await forEachConcurrently(sessions, BACKGROUND, (session) => measure(session, samples));
      before = samples;
    },
  };
}

interface Sample {
  cpuMs: number;
  atMs: number;
}
