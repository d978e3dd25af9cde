import type { Benchmark, Run } from "../../support/benchmark.ts";
import { formatRequest, sendLoad } from "../../support/load.ts";
import { openPostgres } from "../../support/postgres.ts";
import type { Row, Section } from "../../report/report.ts";
import { alternate, timed } from "../../support/rounds.ts";
import { openServer, type BenchServer } from "../../support/server.ts";

export const benchmark: Benchmark = {
  summary: "GETs and creates a second with 1 and 2 server processes on one PostgreSQL",
  async run(run) {
    const env = await openPostgres(run);
    // The first server seeds the API key that both use.
    const first = await openServer(run, { poolSize: 0, env });
    const second = await openServer(run, { poolSize: 0, env: { ...env, BERTH_API_KEY: first.berth.key } });
    return [await measureReads(run, [first, second]), await measureCreates(run, [first, second])];
  },
};

const CONNECTIONS = 16;
const CALLERS = 8;

async function measureReads(run: Run, servers: BenchServer[]): Promise<Section> {
  const { berth, caller } = servers[0]!;
  const session = await caller.create();
  const request = formatRequest("GET", `/api/b2b/sessions/${session.sessionId}`, berth.key);
  const count = run.isShort ? 500 : 3000;
  return compare(run, servers, "GET session", async (used) => {
    const load = (server: BenchServer) =>
      sendLoad({
        port: Number(new URL(server.berth.url).port),
        request,
        status: 200,
        count: count / used.length,
        connections: CONNECTIONS / used.length,
      });
    return (count / (await timed(() => Promise.all(used.map(load))))) * 1000;
  });
}

async function measureCreates(run: Run, servers: BenchServer[]): Promise<Section> {
  const count = run.isShort ? 8 : 24;
  return compare(run, servers, "create and destroy", async (used) => {
    let left = count;
    const tookMs = await timed(() =>
      Promise.all(
        Array.from({ length: CALLERS }, async (_, i) => {
          const { caller } = used[i % used.length]!;
          while (left-- > 0) await caller.destroy(await caller.create());
        }),
      ),
    );
    return (count / tookMs) * 1000;
  });
}

async function compare(
  run: Run,
  servers: BenchServer[],
  name: string,
  measure: (used: BenchServer[]) => Promise<number>,
): Promise<Section> {
  run.progress(name);
  const contestants = [1, 2].map((count) => ({ name: `servers: ${count}`, round: async () => [await measure(servers.slice(0, count))] }));
  const values = await alternate(contestants, { rounds: run.rounds(6, 2), warmUps: 1 });
  const rows = [...values].map(([what, taken]): Row => ({
    what,
    unit: "1/s",
    values: taken,
    ...(what.endsWith("2") && { beside: "servers: 1" }),
  }));
  return { title: `${name}, a second`, rows };
}
