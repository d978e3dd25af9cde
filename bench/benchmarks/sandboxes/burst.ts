import type { Session } from "@berth/contract";
import { runProgram } from "../../support/run-program.ts";
import { PLAIN_PATH } from "../../../server/drivers/host/run.ts";
import type { Row, Section, Target } from "../../report/report.ts";
import type { Benchmark } from "../../support/benchmark.ts";
import { childrenMs, machineMs, processorMs } from "../../support/processor-time.ts";
import { openServer, type BenchServer } from "../../support/server.ts";

// Creates from a filled pool and their first command, all at once. Each sandbox is destroyed when its command has ended, so destroys could
// delay the rest of the burst.
export const benchmark: Benchmark = {
  summary: "100 creates with a command at once, `true` and `node -v`, from a filled pool, with the processor time of each",
  async run(run) {
    const count = run.isShort ? 20 : 100;
    await using server = await openServer(run, { poolSize: count });
    const measured = new Map(COMMANDS.map(({ command }) => [command, [] as Burst[]]));
    // The first one compiles the server's code.
    for (let round = -1; round < run.rounds(3, 1); round++)
      for (const { command } of COMMANDS) {
        run.progress(`${command}, round ${round + 1}`);
        await server.settle();
        const burst = await measure(server, command, count);
        if (round >= 0) measured.get(command)!.push(burst);
      }
    const sections: Section[] = [];
    for (const { command, targetMs } of COMMANDS) {
      const host = { alone: await costOnHost(command, run.isShort ? 10 : 50), queue: await queueOnHost(command, count) };
      sections.push(sectionOf({ command, count, targetMs, host }, measured.get(command)!));
    }
    return sections;
  },
};

const COMMANDS = [
  { command: "true", targetMs: 8 },
  { command: "node -v", targetMs: 15 },
];

interface Burst {
  createMs: number[];
  bothMs: number[];
  // The processor time of one create and command, until the last command of the burst has ended: of the whole machine without this
  // client, and of the server.
  machineMs: number;
  serverMs: number;
}

async function measure({ berth, caller }: BenchServer, command: string, count: number): Promise<Burst> {
  const used = () => ({ machine: machineMs() - ownMs(), server: processorMs(berth.pid()) });
  const before = used();
  const [createMs, bothMs]: [number[], number[]] = [[], []];
  let after = before;
  const startedMs = performance.now();
  const begin = async (): Promise<Session> => {
    const session = await caller.create();
    createMs.push(performance.now() - startedMs);
    await caller.exec(session.sandboxId, command);
    if (bothMs.push(performance.now() - startedMs) === count) after = used();
    return session;
  };
  await Promise.all(Array.from({ length: count }, () => begin().then(caller.destroy)));
  return {
    createMs,
    bothMs,
    machineMs: (after.machine - before.machine) / count,
    serverMs: (after.server - before.server) / count,
  };
}

function ownMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

// The processor time of the same command without a sandbox.
async function costOnHost(command: string, count: number): Promise<number[]> {
  const used = () => ownMs() + childrenMs(process.pid);
  const before = used();
  for (let i = 0; i < count; i++) await runOnHost(command);
  return [(used() - before) / count];
}

// As many commands without a sandbox, two at a time, and when each of them has ended. No order of service ends the last
// one earlier, and one with a smaller p99/p50 only ends the first ones later.
async function queueOnHost(command: string, count: number): Promise<number[]> {
  const ends: number[] = [];
  const startedMs = performance.now();
  let left = count;
  const work = async () => {
    while (left-- > 0) {
      await runOnHost(command);
      ends.push(performance.now() - startedMs);
    }
  };
  await Promise.all([work(), work()]);
  return ends;
}

const runOnHost = (command: string) => runProgram("/bin/sh", ["-c", command], { env: { PATH: PLAIN_PATH } });

interface Kind {
  command: string;
  count: number;
  targetMs: number;
  host: { alone: number[]; queue: number[] };
}

function sectionOf({ command, count, targetMs, host }: Kind, bursts: Burst[]): Section {
  const onHost = `\`${command}\` on the host, processor time`;
  const rows: (Row & { targets?: readonly Target[] })[] = [
    { what: "create", unit: "ms", values: bursts.flatMap((burst) => burst.createMs) },
    { what: "create and command", unit: "ms", values: bursts.flatMap((burst) => burst.bothMs), targets: [{ of: "p99/p50", atMost: 1.3 }] },
    {
      what: "processor time of each",
      unit: "ms",
      values: bursts.map((burst) => burst.machineMs),
      beside: onHost,
      targets: [{ of: "p50", atMost: targetMs }],
    },
    { what: "of that, the server", unit: "ms", values: bursts.map((burst) => burst.serverMs) },
    { what: onHost, unit: "ms", values: host.alone },
    { what: `\`${command}\` on the host, ${count} in a queue of two`, unit: "ms", values: host.queue },
  ];
  return { title: `A create and \`${command}\`, ${count} at once, filled pool`, rows };
}
