import { join } from "node:path";
import { startBareServer } from "../../baselines/bare-server.ts";
import { startFastifyServer } from "../../baselines/fastify-server.ts";
import type { Benchmark, Run } from "../../support/benchmark.ts";
import { formatRequest, sendLoad, type Load } from "../../support/load.ts";
import { openPostgres } from "../../support/postgres.ts";
import { processorMs } from "../../support/processor-time.ts";
import type { Row, Section } from "../../report/report.ts";
import { timed } from "../../support/rounds.ts";
import { openServer } from "../../support/server.ts";
import { addSessionRows } from "../../support/session-rows.ts";

export const benchmark: Benchmark = {
  summary: "API calls on SQLite and PostgreSQL, beside a bare node:http server with the same authentication, and beside a route of Fastify",
  async run(run) {
    const servers = await openServers(run);
    const measured = new Map<string, Measured>();
    // The call that has a target gets more rounds, because a round may differ from the next by a third.
    const roundsOf = (call: Call) => run.rounds(call === GET_SESSION ? 20 : 5, 2);
    for (let round = -1; round < roundsOf(GET_SESSION); round++) {
      run.progress(round < 0 ? "warming up" : `round ${round + 1}`);
      for (const call of CALLS.filter((one) => run.wants(one.name) && round < roundsOf(one)))
        for (const server of servers.filter(({ only }) => !only || only === call)) {
          if (round < 0) await warmUp(run, server, call);
          else merge(measured, `${call.name}, ${server.name}`, await measureCall(run, server, call));
        }
    }
    return describe(measured);
  },
};

interface Call {
  name: string;
  method: string;
  path: (sessionId: string) => string;
  status: number;
  body?: string;
  // An API key that does not exist.
  isUnknownKey?: true;
}

const SESSIONS = "/api/b2b/sessions";
const LISTED = 20;
const GET_SESSION: Call = { name: "GET session", method: "GET", path: (id) => `${SESSIONS}/${id}`, status: 200 };
const CALLS: Call[] = [
  GET_SESSION,
  { name: "launch-url", method: "POST", path: (id) => `${SESSIONS}/${id}/launch-url`, status: 200 },
  { name: "list of 20", method: "GET", path: () => `${SESSIONS}?limit=${LISTED}`, status: 200 },
  { name: "401", method: "GET", path: (id) => `${SESSIONS}/${id}`, status: 401, isUnknownKey: true },
  { name: "400", method: "POST", path: () => SESSIONS, status: 400, body: "{}" },
];
const BARE = "node:http";
// A server that reads the row for each request. Berth has it in memory until something is written.
const FASTIFY = "Fastify and SQLite";
const UNKNOWN_KEY = `berth_${"0".repeat(64)}`;

interface ApiServer {
  name: string;
  port: number;
  pid: number;
  requestOf(call: Call): string;
  // The one call that it answers. Absent: all of them.
  only?: Call;
}

interface Measured {
  latencyMs: number[];
  requestsPerS: number[];
  cpuUs: number[];
}

async function openServers(run: Run): Promise<ApiServer[]> {
  const berths = [
    { name: "SQLite", env: {} },
    { name: "PostgreSQL", env: await openPostgres(run) },
  ];
  const servers: ApiServer[] = [];
  const baselines: ApiServer[] = [];
  for (const { name, env } of berths) {
    const { berth, caller } = await openServer(run, { poolSize: 0, env });
    const { sessionId } = await caller.create();
    await addSessionRows(berth, LISTED);
    const requestOf = ({ method, path, body, isUnknownKey }: Call) =>
      formatRequest(method, path(sessionId), isUnknownKey ? UNKNOWN_KEY : berth.key, body);
    servers.push({ name, port: Number(new URL(berth.url).port), pid: berth.pid(), requestOf });
    if (baselines.length > 0) continue;
    const answers: Record<string, { status: number; body: unknown }> = {};
    for (const { method, path, status, body, isUnknownKey } of CALLS)
      if (!isUnknownKey) {
        const given = body === undefined ? undefined : (JSON.parse(body) as object);
        answers[`${method} ${path(sessionId)}`] = { status, body: JSON.parse(await caller.call(method, path(sessionId), status, given)) };
      }
    baselines.push({ name: BARE, ...(await startBareServer(run, { key: berth.key, answers })), requestOf });
    const part = { key: berth.key, database: join(berth.dataDir, "berth.db"), sandboxUrl: `${berth.url}/sandboxes/` };
    baselines.push({ name: FASTIFY, ...(await startFastifyServer(run, part)), requestOf, only: GET_SESSION });
  }
  return [...baselines, ...servers];
}

// A server that has answered a few thousand requests still runs code that V8 has not optimized; a bare server has too little code for
// that to show.
async function warmUp(run: Run, { port, requestOf }: ApiServer, call: Call): Promise<void> {
  await sendLoad({ port, request: requestOf(call), status: call.status, count: run.isShort ? 4_000 : 20_000, connections: 16 });
}

async function measureCall(run: Run, { port, pid, requestOf }: ApiServer, call: Call): Promise<Measured> {
  const load = (count: number, connections: number): Load => ({ port, request: requestOf(call), status: call.status, count, connections });
  const latencyMs = await sendLoad(load(run.isShort ? 100 : 300, 1));
  const count = run.isShort ? 500 : 2000;
  const before = processorMs(pid);
  const tookMs = await timed(() => sendLoad(load(count, 16)));
  const cpuUs = ((processorMs(pid) - before) * 1000) / count;
  return { latencyMs, requestsPerS: [(count / tookMs) * 1000], cpuUs: [cpuUs] };
}

function merge(all: Map<string, Measured>, name: string, found: Measured): void {
  const known = all.get(name) ?? { latencyMs: [], requestsPerS: [], cpuUs: [] };
  for (const part of ["latencyMs", "requestsPerS", "cpuUs"] as const) known[part].push(...found[part]);
  all.set(name, known);
}

function describe(measured: ReadonlyMap<string, Measured>): Section[] {
  const rows = (part: keyof Measured, unit: Row["unit"]): Row[] =>
    [...measured].map(([what, found]) => ({
      what,
      unit,
      values: found[part],
      ...(!what.endsWith(BARE) && { beside: `${what.split(", ")[0]}, ${BARE}` }),
      // The aim is a bare server's time divided by ours.
      ...(part === "cpuUs" && what === "GET session, SQLite" && { targets: [{ of: "ratio", atMost: 1 / 0.7 }] }),
    }));
  return [
    { title: "Latency of a request, one connection", rows: rows("latencyMs", "ms") },
    { title: "CPU of the server for a request, 16 connections", rows: rows("cpuUs", "µs") },
    { title: "Requests a second, 16 connections", rows: rows("requestsPerS", "1/s") },
  ];
}
