import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { silentLog } from "../../server/log.ts";
import { openStore } from "../../server/store/open.ts";
import { findSession } from "../../server/store/sessions/read.ts";
import { startBerth } from "../support/servers/berth.ts";
import { runRound, type Pair, type Round } from "./rounds.ts";
import { createSubject } from "./subject.ts";

export interface MatrixOptions {
  pairs: readonly Pair[];
  env: Record<string, string>;
  // How many rounds run at once, each with a session of its own.
  lanes: number;
}

// Runs the pairs on one server.
export async function* runMatrix({ pairs, env, lanes }: MatrixOptions): AsyncGenerator<Round> {
  const holdFolder = await mkdtemp(join(tmpdir(), "berth-holds-"));
  const hibernates = pairs.some(({ from }) => from.status === "hibernated");
  await using berth = await startBerth({
    BERTH_TEST_HOLDS: holdFolder,
    BERTH_LAUNCH_TTL: "1d",
    BERTH_LOG_LEVEL: "error",
    ...(hibernates && { BERTH_HIBERNATE_AFTER: "0s" }),
    ...env,
  });
  await using store = await openStore({ url: env.BERTH_DATABASE_URL ?? null, file: join(berth.dataDir, "berth.db"), log: silentLog });
  const untilHibernated = async (id: string) => {
    for (;;) {
      const session = await findSession(store.db, id);
      if (session?.state === "paused" && session.isHibernated) return;
      await delay(20);
    }
  };
  const left = [...pairs];
  const done: Round[] = [];
  let wakeUp = () => {};
  let running = lanes;
  let failure: unknown;
  const lane = async () => {
    const subject = createSubject(berth, untilHibernated);
    try {
      for (let pair = left.shift(); pair && !failure; pair = left.shift()) {
        const round = await runRound(subject, pair, holdFolder).catch((error: unknown) => {
          throw new Error(`${pair?.first} and ${pair?.second} from ${JSON.stringify(pair?.from)}: ${String(error)}`, { cause: error });
        });
        if (round) done.push(round);
        wakeUp();
      }
      await subject.dispose();
    } catch (error) {
      failure ??= error;
    } finally {
      running--;
      wakeUp();
    }
  };
  for (let index = 0; index < lanes; index++) void lane();
  try {
    while (running > 0 || done.length > 0) {
      const round = done.shift();
      if (round) yield round;
      else await new Promise<void>((resolve) => (wakeUp = resolve));
    }
    if (failure) throw failure;
  } finally {
    await rm(holdFolder, { recursive: true, force: true });
  }
}
