import type { Driver } from "../drivers/driver.ts";
import { compare, type Difference } from "../sessions/background/differences.ts";
import type { Store } from "../store/open.ts";
import type { Site } from "../store/sessions/session.ts";
import type { Finding } from "./finding.ts";

const MEANINGS: Record<Difference["kind"], string> = {
  unknown: "is not known to the store",
  orphan: "belongs to no session",
  lost: "should run and has stopped",
  returned: "was considered lost and runs again",
  stopped: "should be frozen and has stopped",
  awake: "should be paused and runs",
  frozen: "should run and is frozen",
  disk_failed: "has a disk that has failed and is read-only",
};
const UNKNOWN_CURE = "A running server stops it and keeps its files in quarantine. `berth session recover` gives it a session again.";
const LIST_TIMEOUT_MS = 20_000;
const MAX_LISTED = 100;

export interface CompareParts {
  store: Store;
  driver: Pick<Driver, "list">;
  site: Site;
}

// Compares the sandboxes of the engine with the store.
export async function compareSandboxes({ store, driver, site }: CompareParts): Promise<Finding[]> {
  const topic = "sandboxes";
  try {
    const malformed: Finding[] = [];
    const onMalformed = ({ problem }: { problem: string }) => void malformed.push({ topic, state: "note", text: problem });
    const differences = await compare({ store, driver, site, onMalformed });
    const { length: total } = await driver.list(AbortSignal.timeout(LIST_TIMEOUT_MS));
    if (differences.length + malformed.length === 0) return [{ topic, state: "good", text: `${total}, as in the store` }];
    return [
      ...malformed,
      ...differences.slice(0, MAX_LISTED).map(({ sandboxId, kind }): Finding => ({
        topic,
        state: "note",
        text: `${sandboxId} ${MEANINGS[kind]}`,
        cure: kind === "unknown" ? UNKNOWN_CURE : "A running server repairs this within seconds.",
      })),
    ];
  } catch (error) {
    return [{ topic, state: "note", text: `could not be compared: ${error instanceof Error ? error.message : String(error)}` }];
  }
}
