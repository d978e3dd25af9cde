import { isAppError } from "@berth/contract";
import type { MachineDisk } from "../../disk-space.ts";
import type { Log } from "../../log.ts";
import type { Store } from "../../store/open.ts";
import { sessionsInState } from "../../store/sessions/read.ts";
import type { Site, Session } from "../../store/sessions/session.ts";
import type { Capacity } from "../pool/capacity.ts";
import { BACKGROUND, forEachConcurrently } from "./for-each-concurrently.ts";
import type { Steps } from "../steps/steps.ts";

// Pauses every running session while the machine's disk is full, and resumes these sessions when there is space again. A sandbox's
// write is acknowledged before the machine has a place for it, so a sandbox that goes on writing would lose files.
export interface DiskPauses {
  tick(): Promise<void>;
}

export interface DiskPausesDeps {
  store: Store;
  steps: Pick<Steps, "run">;
  site: Site;
  disk: Pick<MachineDisk, "level">;
  capacity: Pick<Capacity, "admit">;
  log: Log;
}

export function createDiskPauses({ store, steps, site, disk, capacity, log }: DiskPausesDeps): DiskPauses {
  // An earlier server may have paused some.
  let hasPaused = true;
  // Sessions that could not be resumed. A call may still do it.
  const failed = new Set<string>();

  async function tick(): Promise<void> {
    if (disk.level() === "full") await pauseAll();
    else if (disk.level() === "enough" && hasPaused) await resumeAll();
  }

  // All at once, because every sandbox that runs may write. A session that fails is tried again at the next tick.
  async function pauseAll(): Promise<void> {
    failed.clear();
    hasPaused = true;
    const running = await sessionsInState(store.db, site, ["running"]);
    await Promise.all(running.map((session) => steps.run(session, "disk_full").catch(report(session))));
  }

  async function resumeAll(): Promise<void> {
    const paused = await sessionsInState(store.db, site, ["paused", "hibernating"]);
    const waiting = paused.filter(({ id, stopReason }) => stopReason === "disk_full" && !failed.has(id));
    hasPaused = waiting.length > 0;
    await forEachConcurrently(waiting, BACKGROUND, async (session) => {
      if (session.state === "hibernating") return;
      await steps.run(session, "disk_freed", session.isHibernated ? { admit: capacity.admit } : {}).catch((error: unknown) => {
        if (!isAppError(error, "session_busy") && !isAppError(error, "capacity_reached")) failed.add(session.id);
        report(session)(error);
      });
    });
  }

  const report = (session: Session) => (error: unknown) => {
    if (isAppError(error, "session_busy") || isAppError(error, "capacity_reached")) return;
    log.warn("disk.step_failed", { sessionId: session.id, level: disk.level(), error: String(error) });
  };

  return { tick };
}
