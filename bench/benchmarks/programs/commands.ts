import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Session } from "@berth/contract";
import { PLAIN_PATH } from "../../../server/drivers/host/run.ts";
import { startBareHttpRelay } from "../../baselines/bare-http-relay.ts";
import type { Row, Target } from "../../report/report.ts";
import type { Benchmark } from "../../support/benchmark.ts";
import { createCaller } from "../../support/caller.ts";
import { controlGroupMs, processorMs } from "../../support/processor-time.ts";
import { alternate, timed, timedInSequence, type Contestant } from "../../support/rounds.ts";
import { runProgram } from "../../support/run-program.ts";
import { openServer, type BenchServer } from "../../support/server.ts";

const HOST = "spawn on the host";
const CREATE = "create from the pool";
const FIRST = ["first", "second", "third"].map((which) => `exec, ${which} of a sandbox`);
const HOT = "exec, hot";
const WITHIN_2_MS: Target = { of: "p50 − beside", atMost: 2 };
const RELAY = "a relay of node:http and undici alone";
const COMMAND = "true";
// After this many calls the code of the server is compiled.
const WARM_UPS = 300;

// Measures the time of a command, and the processor time of everything that takes part.
export const benchmark: Benchmark = {
  summary:
    "`exec true` in a fresh sandbox and in one that has run many commands, with its processor time, beside a spawn on the host and a bare relay",
  async run(run) {
    const fresh = run.isShort ? 4 : 10;
    const hot = run.isShort ? 20 : 100;
    await using server = await openServer(run, { poolSize: fresh });
    const { caller, settle } = server;
    const old = await caller.create();
    const costs = { first: [] as Cost[], hot: [] as Cost[] };
    const relay = await startBareHttpRelay(run);
    using relayed = createCaller({ url: `http://127.0.0.1:${relay.port}`, key: "none" });
    const relayMs: number[] = [];
    const callRelay = () => relayed.exec("sandbox", COMMAND);
    for (const exec of [() => caller.exec(old.sandboxId, COMMAND), callRelay]) await timedInSequence(run.isShort ? 30 : WARM_UPS, exec);
    await settle();

    const firsts = new Map([CREATE, ...FIRST].map((what): [string, number[]] => [what, []]));
    const contestants: Contestant[] = [
      { name: HOST, round: () => timedInSequence(hot, () => runProgram("/bin/sh", ["-c", COMMAND], { env: { PATH: PLAIN_PATH } })) },
      {
        name: HOT,
        async round() {
          const before = usage(server, old);
          const values = await timedInSequence(hot, () => caller.exec(old.sandboxId, COMMAND));
          costs.hot.push(costOf(before, usage(server, old), hot));
          return values;
        },
      },
      {
        name: RELAY,
        async round() {
          const before = processorMs(relay.pid);
          const values = await timedInSequence(hot, callRelay);
          relayMs.push((processorMs(relay.pid) - before) / hot);
          return values;
        },
      },
      {
        name: "fresh",
        async round() {
          const sessions: Session[] = [];
          for (let i = 0; i < fresh; i++) firsts.get(CREATE)!.push(await timed(async () => void sessions.push(await caller.create())));
          // The pool fills up again.
          await settle();
          for (const session of sessions)
            for (const what of FIRST) {
              const before = usage(server, session);
              firsts.get(what)!.push(await timed(() => caller.exec(session.sandboxId, COMMAND)));
              if (what === FIRST[0]) costs.first.push(costOf(before, usage(server, session), 1));
            }
          for (const session of sessions) await caller.destroy(session);
          await settle();
          return [];
        },
      },
    ];
    const measured = await alternate(contestants, { rounds: run.rounds(6, 2), warmUps: 1 });
    await caller.destroy(old);
    // These lists begin with the values of the warm-up round.
    const ofFresh = (what: string) => ms(what, firsts.get(what)!.slice(fresh));
    const relayCost = ms(RELAY, relayMs.slice(1));
    const hotCosts = costRows(costs.hot.slice(1), { server: 0.8, daemon: 1.5 });
    const firstCosts = costRows(costs.first.slice(fresh), {});
    const rows: Row[] = [
      ms(HOST, measured.get(HOST)!),
      { ...ms(HOT, measured.get(HOT)!), beside: HOST, targets: [WITHIN_2_MS] },
      ...FIRST.map((what, i) => ({ ...ofFresh(what), beside: HOT, targets: i === 0 ? [WITHIN_2_MS] : [] })),
      {
        ...ofFresh(CREATE),
        targets: [
          { of: "p50", atMost: 4 },
          { of: "p99", atMost: 8 },
        ],
      },
    ];
    return [
      { title: "A command, `true`", rows },
      { title: "Processor time of a hot command", rows: [relayCost, ...hotCosts.map(besideRelay)] },
      { title: "Processor time of the first command of a sandbox", rows: firstCosts },
    ];
  },
};

type Cost = Record<"server" | "daemon" | "programs", number>;

// The processor time of each part so far. The daemon is the child of the sandbox's first process.
function usage({ berth: { pid, dataDir } }: BenchServer, { sandboxId }: Session): Cost {
  const init = Number(readFileSync(join(dataDir, "sandboxes", sandboxId, "init.pid"), "utf8"));
  const daemon = Number(readFileSync(`/proc/${init}/task/${init}/children`, "utf8").trim().split(" ")[0]);
  const daemonMs = processorMs(daemon);
  return { server: processorMs(pid()), daemon: daemonMs, programs: controlGroupMs(init) - daemonMs };
}

const costOf = (before: Cost, after: Cost, calls: number): Cost => ({
  server: (after.server - before.server) / calls,
  daemon: (after.daemon - before.daemon) / calls,
  programs: (after.programs - before.programs) / calls,
});

const besideRelay = (row: Row): Row => (row.what === NAMES.server ? { ...row, beside: RELAY } : row);

const ms = (what: string, values: number[]): Row => ({ what, unit: "ms", values });

const NAMES: Record<keyof Cost, string> = { server: "server", daemon: "daemon", programs: "`sh` and `true`" };

function costRows(costs: Cost[], atMost: Partial<Cost>): Row[] {
  return (["server", "daemon", "programs"] as const).map((part) => ({
    ...ms(
      NAMES[part],
      costs.map((cost) => cost[part]),
    ),
    ...(atMost[part] !== undefined && { targets: [{ of: "p50" as const, atMost: atMost[part] }] }),
  }));
}
