import { existsSync, readdirSync } from "node:fs";
import type { Driver } from "../../server/drivers/driver.ts";
import type { Store } from "../../server/store/open.ts";

const TRACES = "/sys/kernel/tracing/instances";

// Snapshots that a dead server has left incomplete, files without a row, and rows without files.
export async function findSnapshotLeftovers(store: Store, driver: Driver): Promise<string[]> {
  const listed = await driver.listSnapshots(AbortSignal.timeout(20_000));
  const rows = await store.db.selectFrom("snapshots").select(["id", "state", "purpose"]).execute();
  const ids = new Set<string>(rows.map(({ id }) => id));
  const traces = existsSync(TRACES) ? readdirSync(TRACES) : [];
  const incomplete = rows.filter(({ state, purpose }) => state !== "ready" || purpose === "fork");
  return [
    ...incomplete.map(({ id, state, purpose }) => `the snapshot ${id} (${purpose}) is stuck in ${state}`),
    ...listed.filter((id) => !ids.has(id)).map((id) => `the files of ${id} have no row`),
    ...rows.filter(({ id }) => !listed.includes(id)).map(({ id }) => `the snapshot ${id} has no files`),
    ...rows.flatMap(({ id }) => traces.filter((name) => name.includes(id)).map((name) => `the trace ${name} is left`)),
  ];
}
