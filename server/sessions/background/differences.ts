import type { SandboxId } from "@berth/contract";
import type { Driver, SandboxSummary } from "../../drivers/driver.ts";
import type { Store } from "../../store/open.ts";
import { listQuarantined } from "../../store/quarantine.ts";
import { findSandboxOwner, sessionsInState, type ListOptions } from "../../store/sessions/read.ts";
import type { Site, Session } from "../../store/sessions/session.ts";
import { outcomeOf, type Trigger } from "../states/states.ts";

// The differences between the engine's sandboxes and the store. Each kind is a trigger of the table.
export interface Difference {
  sandboxId: SandboxId;
  sessionId: string | null;
  kind: Extract<Trigger, "unknown" | "orphan" | "lost" | "returned" | "stopped" | "awake" | "frozen" | "disk_failed">;
}

export interface CompareDeps extends ListOptions {
  store: Store;
  driver: Pick<Driver, "list">;
  site: Site;
}

export const LIST_TIMEOUT_MS = 20_000;

// Changes nothing.
export async function compare({ store, driver, site, onMalformed }: CompareDeps): Promise<Difference[]> {
  // The list comes first: a sandbox is created only after its row, so a sandbox of the list without a row has no owner.
  const sandboxes = await driver.list(AbortSignal.timeout(LIST_TIMEOUT_MS));
  const sessions = await sessionsInState(store.db, site, ["warm", "running", "paused"], { onMalformed });
  const conditions = new Map(sandboxes.map((sandbox) => [sandbox.id, sandbox.condition]));
  const owned = new Set(sessions.map((session) => session.sandboxId));
  const differences = sessions
    .map((session) => findDifference(session, conditions.get(session.sandboxId) ?? "absent"))
    .filter((difference) => difference !== null);
  const unowned = sandboxes.filter((sandbox) => !owned.has(sandbox.id));
  return [...differences, ...(await orphansAmong(store, site, unowned))];
}

// null if the sandbox is as the session says.
export function findDifference(session: Session, condition: SandboxSummary["condition"]): Difference | null {
  const kind = kindOf(session, condition);
  return kind && { sandboxId: session.sandboxId, sessionId: session.id, kind };
}

function kindOf(session: Session, condition: SandboxSummary["condition"]): Difference["kind"] | null {
  if (condition === "read_only" && session.state !== "paused") return "disk_failed";
  const holdsNoMemory = condition === "absent" || condition === "stopped";
  switch (session.state) {
    case "warm":
      // A sandbox that cannot be reached is of no use to the next create.
      if (holdsNoMemory || condition === "unreachable") return "lost";
      return condition === "frozen" ? "frozen" : null;
    case "running":
      if (holdsNoMemory) return "lost";
      return condition === "frozen" ? "frozen" : null;
    case "paused":
      if (condition === "read_only") return "awake";
      if (condition === "running") return session.stopReason === "sandbox_lost" ? "returned" : "awake";
      return holdsNoMemory && !session.isHibernated ? "stopped" : null;
    default:
      return null;
  }
}

async function orphansAmong(store: Store, site: Site, sandboxes: SandboxSummary[]): Promise<Difference[]> {
  if (sandboxes.length === 0) return [];
  const quarantined = new Set((await listQuarantined(store.db, site)).map(({ id }) => id));
  const orphans: Difference[] = [];
  for (const { id, condition } of sandboxes) {
    const owner = await findSandboxOwner(store.db, id);
    // Without a row and without files it is a remainder of a destroyed sandbox.
    const kind = owner === undefined && condition !== "absent" ? "unknown" : "orphan";
    if (quarantined.has(id) && owner === undefined && condition === "stopped") continue;
    if (outcomeOf(kind, owner?.state ?? "absent").do !== "ignore") orphans.push({ sandboxId: id, sessionId: owner?.id ?? null, kind });
  }
  return orphans;
}
