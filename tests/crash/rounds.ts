import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { prepareBerth, type Berth } from "../support/servers/berth.ts";
import { judge, type Verdict } from "./check.ts";
import type { ImageWorld } from "./images.ts";
import { createKeyRing, type KeyRing } from "./key-ring.ts";
import { createLedger, type Ledger } from "./ledger.ts";

export interface Round extends Verdict {
  // The fail point, or the milliseconds after which the server was killed.
  killedAt: string;
  // From the start of the next server until it is ready.
  recoveryMs: number;
}

// Every step boundary, by its name in server/sessions (`failpoint("…")`). A create is undone only after a first crash, so the
// next server is killed too.
export const FAIL_POINTS = [
  "warming.begun",
  "make.created",
  "warming.acted",
  "warming.left",
  "creating.begun",
  "creating.acted",
  "create.started",
  "creating.left",
  "make.created, then discarding.begun",
  "make.created, then discarding.acted",
  "pausing.begun",
  "pause.frozen",
  "pausing.acted",
  "pausing.left",
  "hibernating.begun",
  "hibernate.daemon_stopped",
  "hibernate.stopped",
  "hibernating.acted",
  "hibernating.left",
  "resuming.begun",
  "resume.woken",
  "resume.started",
  "resuming.acted",
  "resuming.left",
  "destroying.begun",
  "remove.destroyed",
  "destroying.acted",
  "destroying.left",
  "usage.counting",
  "setup.begun",
  "setup.source_recorded",
  "outbox.recorded",
  "run.accepted",
  "run.delivered",
  "run.recorded",
  "limits.recorded",
  "volume.deleting",
  "volume.removed",
  "snapshot.begun",
  "snapshot.copied",
  "snapshot.left",
  "snapshot_delete.begun",
  "snapshot_delete.deleted",
  "snapshot.copied, then snapshot_delete.begun",
  "snapshot.begun, then snapshot_delete.deleted",
] as const;

// Those of sandboxes that have images, which are the ones on Docker.
export const IMAGE_FAIL_POINTS = [
  "rebuilding.begun",
  "rebuild.stopped",
  "rebuilding.acted",
  "rebuilding.left",
  "rebuild.stopped, then rebuilding.acted",
] as const;

// Hibernate at once, so that every round has hibernating sessions. The pool grows after creates that found it empty.
const SETTINGS = {
  BERTH_HIBERNATE_AFTER: "0s",
  BERTH_POOL_SIZE: "1",
  BERTH_POOL_MAX: "2",
  BERTH_LOG_LEVEL: "warn",
  BERTH_MAX_VOLUMES: "1000",
};

// Each round kills the server, restarts it and checks it. All rounds use one data folder, so that damage accumulates.
export async function* crash(options: {
  rounds: number;
  seed: number;
  points: readonly string[];
  env?: Record<string, string>;
  images?: ImageWorld;
  maxSessions?: number;
}): AsyncGenerator<Round> {
  const random = seeded(options.seed);
  await using berth = await prepareBerth({ ...SETTINGS, ...options.env, ...options.images?.env });
  const ledger = createLedger(random, options);
  const keys = createKeyRing();
  const file = join(berth.dataDir, "failpoint");
  // The server reads the name of the fail point whenever it reaches one.
  const arm = (point: string) => writeFileSync(file, point);
  const start = () => berth.start({ BERTH_TEST_FAILPOINT: file });
  arm("");
  await start();
  for (let round = 0; round < options.rounds; round++) {
    const point = options.points[round];
    const killedAt = point ?? `${Math.floor(random() * 1500)} ms`;
    const [first, ...next] = point?.split(", then ") ?? [];
    if (first === undefined) await dieSoon(berth, ledger, keys, parseInt(killedAt, 10));
    else {
      arm(first);
      await untilDead(berth, ledger, first);
    }
    for (const later of next) {
      arm(later);
      await Promise.race([start().catch(() => {}), berth.died()]);
      await untilDead(berth, ledger, later);
    }
    arm("");
    const recoveryMs = await start();
    yield { killedAt, recoveryMs, ...(await judge(berth, ledger, keys)) };
  }
  await berth.stop();
}

// Makes calls until the server dies at the fail point.
async function untilDead(berth: Berth, ledger: Ledger, point: string): Promise<void> {
  let gone = false;
  void berth.died().then(() => (gone = true));
  const act = actFor(point, ledger);
  const deadline = performance.now() + 30_000;
  while (!gone) {
    if (performance.now() > deadline) throw new Error(`the server did not reach the fail point ${point} in 30 s`);
    await act(berth.api).catch(ignoreWhen(() => true));
    await delay(5);
  }
}

function actFor(point: string, ledger: Ledger): Ledger["act"] {
  if (point.startsWith("volume.")) return ledger.useVolume;
  if (point.startsWith("setup.")) return ledger.useSource;
  if (point.startsWith("outbox.")) return ledger.useProcess;
  if (point.startsWith("run.")) return ledger.useRun;
  if (point.startsWith("limits.")) return ledger.useLimits;
  return point.startsWith("rebuild") ? ledger.useImage : ledger.act;
}

async function dieSoon(berth: Berth, ledger: Ledger, keys: KeyRing, afterMs: number): Promise<void> {
  let dead = false;
  const workers = Array.from({ length: 3 }, async () => {
    while (!dead) await ledger.act(berth.api).catch(ignoreWhen(() => dead));
  });
  const turned = keys.turn(berth);
  await delay(afterMs);
  dead = true;
  await berth.kill();
  await Promise.all([...workers, turned]);
}

// Ignores broken connections, which this suite causes. A wrong response of a running server still fails.
function ignoreWhen(dying: () => boolean) {
  return (error: unknown) => {
    if (!(error instanceof TypeError) && !dying()) throw error;
  };
}

// A pseudo-random generator, so that a seed reproduces its rounds.
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
