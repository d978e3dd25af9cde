import { setTimeout as sleep } from "node:timers/promises";
import type { Session } from "@berth/contract";
import type { Benchmark, Run } from "../../support/benchmark.ts";
import type { Caller } from "../../support/caller.ts";
import { processorMs } from "../../support/processor-time.ts";
import type { Row, Section } from "../../report/report.ts";
import { alternate, timed, timedInSequence } from "../../support/rounds.ts";
import { openServer, type BenchServer } from "../../support/server.ts";
import { addSessionRows } from "../../support/session-rows.ts";

export const benchmark: Benchmark = {
  summary: "each API call with 0, 1,000 and 100,000 rows, and beside 0, 50 and 200 live sandboxes",
  async run(run) {
    const sections: Section[] = [];
    if (run.wants("rows")) sections.push(run.keep(await measureSizes(run, "rows", run.isShort ? [0, 1000, 20_000] : [0, 1000, 100_000])));
    if (run.wants("live")) sections.push(run.keep(await measureSizes(run, "live", run.isShort ? [0, 10] : [0, 50, 200])));
    return sections;
  },
};

type Kind = "rows" | "live";
type Measure = (caller: Caller, session: Session) => Promise<number[]>;

const READS = 40;
const IDLE_MS = 2000;
const AT_ONCE = 4;
const LISTED = 20;
const SESSIONS = "/api/b2b/sessions";

const CALLS: Record<string, Measure> = {
  "GET session": (caller, { sessionId }) => timedInSequence(READS, () => caller.call("GET", `${SESSIONS}/${sessionId}`, 200)),
  "launch-url": (caller, { sessionId }) => timedInSequence(READS, () => caller.call("POST", `${SESSIONS}/${sessionId}/launch-url`, 200)),
  "list of 20": (caller) => timedInSequence(READS, () => caller.call("GET", SESSIONS, 200)),
  pause: async (caller, { sessionId }) => [await timed(() => caller.call("POST", `${SESSIONS}/${sessionId}/pause`, 200))],
  resume: async (caller, { sessionId }) => [await timed(() => caller.call("POST", `${SESSIONS}/${sessionId}/resume`, 200))],
  create: async (caller) => [await timed(async () => created.push(await caller.create()))],
  DELETE: async (caller) => [await timed(() => caller.destroy(created.pop()!))],
};
// The session between a create and its DELETE.
const created: Session[] = [];

async function measureSizes(run: Run, kind: Kind, sizes: number[]): Promise<Section> {
  await using stack = new AsyncDisposableStack();
  const servers: { size: number; server: BenchServer; session: Session }[] = [];
  for (const size of sizes) {
    run.progress(`preparing ${size} ${kind === "rows" ? "rows" : "live sandboxes"}`);
    const server = stack.use(await openServer(run, { poolSize: 0 }));
    // A list has 20 entries in every case.
    await addSessionRows(server.berth, kind === "rows" ? LISTED + size : LISTED);
    if (kind === "live") await createMany(server.caller, size);
    servers.push({ size, server, session: await server.caller.create() });
  }
  run.progress("measuring");
  const rows: Row[] = [];
  for (const [name, measure] of Object.entries(CALLS)) {
    // A pause precedes its resume, and a create its DELETE.
    if (name === "resume" || name === "DELETE") continue;
    const partner = { pause: "resume", create: "DELETE" }[name];
    const undone = new Map<string, number[]>();
    const contestants = servers.map(({ size, server, session }) => ({
      name: label(kind, name, size),
      async round() {
        const values = await measure(server.caller, session);
        if (partner) add(undone, label(kind, partner, size), await CALLS[partner]!(server.caller, session));
        return values;
      },
    }));
    const values = await alternate(contestants, { rounds: run.rounds(15, 3), warmUps: 1, isOver: run.isOver });
    for (const [what, taken] of [...values, ...undone]) rows.push(rowOf(kind, what, taken));
  }
  for (const { size, server } of servers)
    rows.push(rowOf(kind, label(kind, "CPU of the idle server a second", size), [await idleCpu(server)]));
  return { title: `API calls with ${kind === "rows" ? "rows of other sessions" : "live sandboxes"}`, rows };
}

function rowOf(kind: Kind, what: string, values: number[]): Row {
  const [call = "", size] = what.split(", ");
  const empty = label(kind, call, 0);
  if (what === empty) return { what, unit: "ms", values };
  const isLargest = size === "100000 rows" || size === "200 live";
  const targets = isLargest && call in CALLS ? [{ of: "ratio" as const, atMost: 1.1 }] : [];
  return { what, unit: "ms", values, beside: empty, targets };
}

const label = (kind: Kind, call: string, size: number) => `${call}, ${size} ${kind}`;

function add(all: Map<string, number[]>, name: string, values: number[]): void {
  all.set(name, [...(all.get(name) ?? []), ...values]);
}

async function createMany(caller: Caller, count: number): Promise<void> {
  let left = count;
  const create = async () => {
    while (left-- > 0) await caller.create();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, create));
}

// The timers of the server: scheduling, reconciliation, webhooks.
async function idleCpu({ berth }: BenchServer): Promise<number> {
  const before = processorMs(berth.pid());
  const startedMs = performance.now();
  await sleep(IDLE_MS);
  return ((processorMs(berth.pid()) - before) / (performance.now() - startedMs)) * 1000;
}
