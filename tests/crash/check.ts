import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { SessionStatus } from "@berth/contract";
import { readConfig, type Config } from "../../server/config/config.ts";
import type { Driver } from "../../server/drivers/driver.ts";
import { openDriver } from "../../server/drivers/index.ts";
import { silentLog } from "../../server/log.ts";
import type { SessionState } from "../../server/store/sessions/session.ts";
import { openStore, type Store } from "../../server/store/open.ts";
import { ASK_PROXY, policyThatSaid } from "../support/servers/ask-proxy.ts";
import type { Berth } from "../support/servers/berth.ts";
import { findRunFaults } from "./check-runs.ts";
import { findSnapshotLeftovers } from "./check-snapshots.ts";
import { checkUsage } from "./check-usage.ts";
import type { KeyRing } from "./key-ring.ts";
import type { Entry, Ledger } from "./ledger.ts";
import { findStrayUserIds, findTraces } from "./traces.ts";

export interface Verdict {
  violations: string[];
  // From ready until no step is abandoned and everything has an owner.
  settledMs: number;
}

const SETTLE_TIMEOUT_MS = 30_000;
// Each check reads every process of the machine twice.
const SETTLE_INTERVAL_MS = 150;
const FILLED_MS = 1000;

// Checks every promise of docs/reliability.md on a server that has just restarted.
export async function judge(berth: Berth, ledger: Ledger, keys: KeyRing): Promise<Verdict> {
  const { config } = readConfig(berth.env);
  await using store = await openStore({ file: join(berth.dataDir, "berth.db"), url: config.databaseUrl, log: silentLog, migrate: false });
  await using driver = await openDriver(config, silentLog);
  const readyMs = performance.now();
  const elapsedMs = () => performance.now() - readyMs;
  let left = await checkLeftovers(store, driver, config);
  while (left.length > 0 && elapsedMs() < SETTLE_TIMEOUT_MS) {
    await delay(SETTLE_INTERVAL_MS);
    left = await checkLeftovers(store, driver, config);
  }
  const violations = left;
  const settledMs = elapsedMs();
  const entries = ledger.entries();
  for (const entry of entries) violations.push(...(await checkSession(berth, entry)));
  violations.push(...(await checkEvents(store, entries)), ...(await ledger.retry(berth.api)), ...(await keys.check(berth)));
  violations.push(...(await checkProcesses(store, entries)));
  violations.push(...(await settled(() => findRunFaults(store, entries))));
  violations.push(...(await checkUsage(store)));
  violations.push(...(await checkPool(store, config, elapsedMs)));
  return { violations, settledMs };
}

async function checkSession(berth: Berth, entry: Entry): Promise<string[]> {
  const answer = await berth.api.call("GET", `/api/b2b/sessions/${entry.sessionId}`);
  if (answer.status !== 200) return [`${entry.sessionId} was acknowledged and GET answers ${answer.status}`];
  const { status } = answer.body as { status: SessionStatus };
  if (!entry.allowed.has(status)) return [`${entry.sessionId} is ${status}, allowed: ${[...entry.allowed].join(", ")}`];
  entry.allowed = new Set([status]);
  if (status === "destroyed") return [];
  if (status === "paused") {
    const resumed = await berth.api.call("POST", `/api/b2b/sessions/${entry.sessionId}/resume`, { autoStartAgent: false });
    if (resumed.status !== 200) return [`${entry.sessionId} does not resume: ${resumed.status} ${JSON.stringify(resumed.body)}`];
    entry.allowed = new Set(["running"]);
    entry.events.push("session.resumed");
  }
  return [...(await checkFiles(berth, entry)), ...(await checkImage(berth, entry)), ...(await checkEgress(berth, entry))];
}

// The row has a policy that was acknowledged or on its way, and the sandbox has that of the row.
async function checkEgress(berth: Berth, entry: Entry): Promise<string[]> {
  const { body } = await berth.api.call("GET", `/api/b2b/sessions/${entry.sessionId}?expand=details`);
  const policy = (body as { egress?: { policy: "public" | "none" } | null }).egress?.policy ?? "public";
  if (!entry.egress.has(policy)) return [`${entry.sessionId} has the egress ${policy}, allowed: ${[...entry.egress].join(", ")}`];
  entry.egress = new Set([policy]);
  return settled(async () => {
    const found = policyThatSaid((await berth.api.exec(entry.sandboxId, ASK_PROXY)).stdout);
    return found === policy ? [] : [`the sandbox of ${entry.sessionId} has the egress ${found}, and its row ${policy}`];
  });
}

async function checkImage(berth: Berth, { sessionId, image }: Entry): Promise<string[]> {
  if (image === undefined) return [];
  const { body } = await berth.api.call("GET", `/api/b2b/sessions/${sessionId}?expand=details`);
  const found = (body as { image?: string }).image;
  return found === image ? [] : [`${sessionId} runs in the image ${found}, not in ${image}`];
}

async function checkFiles(berth: Berth, entry: Entry): Promise<string[]> {
  const violations: string[] = [];
  for (const [name, { written, perhaps }] of entry.files) {
    const found = await berth.api.readFile(entry.sandboxId, name);
    const allowed = [...(written ? [written] : []), ...perhaps];
    if (found === null ? written !== null : !allowed.some((content) => content.equals(found)))
      violations.push(`${entry.sessionId} ${name}: ${found === null ? "lost" : `${found.length} unknown bytes`}`);
    entry.files.set(name, { written: found, perhaps: [] });
  }
  return violations;
}

async function checkEvents(store: Store, entries: Entry[]): Promise<string[]> {
  const types = new Map<string, string[]>();
  for (const event of await store.db.selectFrom("events").select(["session_id", "type"]).execute())
    types.set(event.session_id, [...(types.get(event.session_id) ?? []), event.type]);
  const count = (list: string[], type: string) => list.filter((entry) => entry === type).length;
  return entries.flatMap((entry) => {
    const found = types.get(entry.sessionId) ?? [];
    if (count(found, "session.source_failed") > 1) return [`${entry.sessionId}: its source failed more than once`];
    return [...new Set(entry.events)]
      .filter((type) => count(found, type) < count(entry.events, type))
      .map((type) => `${entry.sessionId}: ${count(entry.events, type)} answers but ${count(found, type)} events ${type}`);
  });
}

// Sessions that were destroyed have ended their processes with them.
async function checkProcesses(store: Store, entries: Entry[]): Promise<string[]> {
  const living = entries.filter(({ allowed }) => !allowed.has("destroyed"));
  const find = async () => {
    const rows = await store.db.selectFrom("events").select("data").where("type", "=", "process.exited").execute();
    const reported = rows.map(({ data }) => (JSON.parse(data) as { processId: string }).processId);
    return living.flatMap(({ sessionId, processes }) =>
      processes.flatMap((id) => {
        const times = reported.filter((reportedId) => reportedId === id).length;
        return times === 1 ? [] : [`${sessionId}: the end of ${id} was reported ${times} times`];
      }),
    );
  };
  return settled(find);
}

// The faults that are still there after a while.
async function settled(find: () => Promise<string[]>): Promise<string[]> {
  const endMs = performance.now() + SETTLE_TIMEOUT_MS;
  for (;;) {
    const wrong = await find();
    if (wrong.length === 0 || performance.now() > endMs) return wrong;
    await delay(50);
  }
}

// Steps that a caller waits for. Warming and hibernating run all the time.
const MUST_END = new Set<SessionState>(["creating", "discarding", "pausing", "thawing", "rebuilding", "resuming", "destroying"]);

// A server fills its pool a moment after it is ready, and removes an excess at the next fill. So this watches the pool until
// then, and counts an excess at any time.
async function checkPool(store: Store, { poolSize, poolMax }: Config, elapsedMs: () => number): Promise<string[]> {
  let most = 0;
  let busy = true;
  while ((busy || elapsedMs() < FILLED_MS) && elapsedMs() < SETTLE_TIMEOUT_MS) {
    const blanks = await store.db.selectFrom("sessions").select("state").where("state", "in", ["warming", "warm"]).execute();
    most = Math.max(most, blanks.length);
    busy = blanks.some(({ state }) => state === "warming");
    await delay(50);
  }
  const limit = Math.max(poolSize, poolMax ?? 0);
  return most > limit ? [`the pool had ${most} sandboxes and may have ${limit}`] : [];
}

// Sandboxes without an owner, and everything of them that is left on the machine.
async function checkLeftovers(store: Store, driver: Driver, { dataDir }: Config): Promise<string[]> {
  const rows = await store.db.selectFrom("sessions").select(["sandbox_id", "state", "setup_state"]).execute();
  const owned = new Set<string>(rows.filter((row) => row.state !== "destroyed").map((row) => row.sandbox_id));
  const listed = (await driver.list(AbortSignal.timeout(20_000))).map(({ id }) => id as string);
  const orphans = listed.filter((id) => !owned.has(id)).map((id) => `the sandbox ${id} has no owner`);
  const stuck = rows.filter((row) => MUST_END.has(row.state)).map((row) => `${row.sandbox_id} is stuck in ${row.state}`);
  const unfinished = rows.filter((row) => row.state === "running" && row.setup_state !== null);
  const setups = unfinished.map((row) => `the setup of ${row.sandbox_id} does not end`);
  const volumes = new Map((await store.db.selectFrom("volumes").select(["id", "state"]).execute()).map(({ id, state }) => [id, state]));
  const files = (await driver.volumes?.list(AbortSignal.timeout(20_000))) ?? [];
  const lost = files.filter((id) => !volumes.has(id)).map((id) => `the volume ${id} has files and no row`);
  const undeleted = [...volumes].filter(([, state]) => state === "deleting").map(([id]) => `the volume ${id} is not deleted`);
  const found = [...orphans, ...stuck, ...setups, ...lost, ...undeleted, ...(await findSnapshotLeftovers(store, driver))];
  // These checks read every process of the machine, so they run only when the others find nothing.
  if (found.length > 0) return found;
  const traces = findTraces(dataDir)
    .filter(({ id }) => !owned.has(id))
    .map(({ id, what }) => `${what} is of ${id}, which has no owner`);
  return [...traces, ...findStrayUserIds(dataDir)];
}
