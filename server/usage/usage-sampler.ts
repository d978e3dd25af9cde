import { setImmediate as nextTurn } from "node:timers/promises";
import type { SandboxId } from "@berth/contract";
import { DAY, SECOND, type Clock } from "../clock.ts";
import { runWork } from "../event-loop/loop-work.ts";
import type { Log } from "../log.ts";
import type { Store } from "../store/open.ts";
import type { Site, PartnerSession } from "../store/sessions/session.ts";
import {
  addLastSamples,
  addSamples,
  ownersOf,
  purgeCounters,
  sessionsToSample,
  type Sample,
  type SamplePage,
  type SamplePosition,
} from "../store/usage/counters.ts";
import { addUsage, dayOf, ownerOf, purgeUsage, type UsageOwner } from "../store/usage/days.ts";
import type { SandboxMeter } from "./sandbox-meter.ts";

// Measures the usage of sandboxes from time to time, and adds it to the usage of the day.
export interface UsageSampler extends AsyncDisposable {
  // Measures a sandbox whose processes are about to end. Never rejects, and writes nothing at once.
  measureLast(session: PartnerSession): Promise<void>;
  // Measures all running sandboxes of this site, and writes the usage since the last call.
  sample(): Promise<void>;
}

export interface UsageSamplerDeps {
  store: Store;
  meter: SandboxMeter;
  site: Site;
  egress: { takeTraffic(): ReadonlyMap<SandboxId, Traffic> };
  clock: Clock;
  log: Log;
}

export interface Traffic {
  sentBytes: number;
  receivedBytes: number;
}

const SAMPLE_MS = 30 * SECOND;
const STATS_TIMEOUT_MS = 5 * SECOND;
// A caller waits for the end of its session.
const LAST_TIMEOUT_MS = 500;
const PARALLEL = 8;
// Sandboxes of one transaction.
const BATCH = 50;
const KEPT_DAYS = 400;
const PURGE_BATCH = 1000;
const WORK = { name: "usage" };

export function createUsageSampler({ store, meter, site, egress, clock, log }: UsageSamplerDeps): UsageSampler {
  let last: Sample[] = [];
  // Without processor time, a last sample is not worth the wait for the engine.
  let measuresCpu = true;

  async function measure(sandboxId: SandboxId, owner: UsageOwner, timeoutMs: number): Promise<Sample[]> {
    try {
      const { cpuMs, memoryBytes, diskBytes, reportedCpus } = await meter.read(sandboxId, owner.template, timeoutMs);
      measuresCpu = cpuMs !== null;
      return [{ owner, atMs: clock.now(), cpuMs, reportedCpus, memoryBytes, diskBytes }];
    } catch (error) {
      // The sandbox has just ended, or the engine does not answer.
      log.debug("usage.sample_failed", { sandboxId, error: String(error) });
      return [];
    }
  }

  // A power cut that undoes a sample loses no processor time: the next sample has it too.
  const write = (work: Parameters<Store["transaction"]>[0]) => store.transaction(work, { sync: "later" });

  // If a write fails, what it would have added is lost, except for processor time.
  async function sample(): Promise<void> {
    await writeLast();
    await writeTraffic();
    const sampledAfterMs = clock.now() - SAMPLE_MS / 2;
    for (let after: SamplePosition | null = { partnerId: "", sessionId: "" }; after !== null;) {
      const page: SamplePage = await sessionsToSample(store.db, site, { after, limit: BATCH, sampledAfterMs });
      const samples: Sample[] = [];
      for (let at = 0; at < page.sessions.length; at += PARALLEL) {
        const some = page.sessions.slice(at, at + PARALLEL);
        const measured = await Promise.all(some.map(({ sandboxId, owner }) => measure(sandboxId, owner, STATS_TIMEOUT_MS)));
        samples.push(...measured.flat());
        await nextTurn();
      }
      if (samples.length > 0) await write((tx) => addSamples(tx, samples));
      // A page may have no running session.
      await nextTurn();
      after = page.next;
    }
    await purgeUsage(store.db, dayOf(clock.now()) - KEPT_DAYS * DAY, PURGE_BATCH);
  }

  async function writeLast(): Promise<void> {
    const samples = last;
    last = [];
    for (const batch of batches(samples)) {
      await write((tx) => addLastSamples(tx, batch));
      await nextTurn();
    }
  }

  async function writeTraffic(): Promise<void> {
    const traffic = egress.takeTraffic();
    const sandboxIds = [...traffic.keys()];
    for (let at = 0; at < sandboxIds.length; at += BATCH) {
      const owners = await ownersOf(store.db, sandboxIds.slice(at, at + BATCH));
      const day = dayOf(clock.now());
      const usage = owners.map(({ sandboxId, owner }) => {
        const { sentBytes, receivedBytes } = traffic.get(sandboxId)!;
        return { ...owner, day, egress_bytes: sentBytes, ingress_bytes: receivedBytes };
      });
      await write((tx) => addUsage(tx, usage));
      await nextTurn();
    }
  }

  const logFailure = (work: () => Promise<void>) =>
    runWork(WORK, work).catch((error: unknown) => log.warn("usage.failed", { error: String(error) }));
  const purging = logFailure(() => purgeCounters(store.db));
  const timer = clock.every(SAMPLE_MS, () => logFailure(sample));

  return {
    sample,
    async measureLast(session) {
      if (measuresCpu) last.push(...(await measure(session.sandboxId, ownerOf(session), LAST_TIMEOUT_MS)));
    },
    async [Symbol.asyncDispose]() {
      await purging;
      await timer[Symbol.asyncDispose]();
      await logFailure(writeLast);
      await logFailure(writeTraffic);
    },
  };
}

// In each batch a session occurs once. One that has been started and ended again is in a later batch.
function* batches(samples: readonly Sample[]): Generator<Sample[]> {
  let rest = samples;
  while (rest.length > 0) {
    const batch = new Map<string, Sample>();
    const later: Sample[] = [];
    for (const sample of rest) {
      const { session_id } = sample.owner;
      if (batch.size >= BATCH || batch.has(session_id)) later.push(sample);
      else batch.set(session_id, sample);
    }
    yield [...batch.values()];
    rest = later;
  }
}
