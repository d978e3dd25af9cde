import type { Session } from "@berth/contract";
import { openRawContainers, type RawContainers } from "../../baselines/raw-container.ts";
import { sandboxesAloneMs, startsAloneMs } from "../../baselines/starts-alone.ts";
import { runProgram } from "../../support/run-program.ts";
import { PLAIN_PATH } from "../../../server/drivers/host/run.ts";
import type { Row, Section, Target } from "../../report/report.ts";
import type { Benchmark, Run } from "../../support/benchmark.ts";
import { childrenMs, machineMs, ownMs, processorMs } from "../../support/processor-time.ts";
import { openServer, type BenchServer } from "../../support/server.ts";

// Creates and their first command, all at once: from a filled pool, and as the first burst of a server with the default pool.
export const benchmark: Benchmark = {
  summary:
    "100 creates with a command at once, `true` and `node -v`, from a filled pool and from the default one, with their processor time",
  async run(run) {
    const sections = run.wants("filled pool") ? (await measureFilled(run)).map(run.keep) : [];
    return run.wants("default pool first") ? [...sections, run.keep(await measureFirst(run))] : sections;
  },
};

// Each sandbox is destroyed when its command has ended, so destroys could delay the rest of the burst.
async function measureFilled(run: Run): Promise<Section[]> {
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
}

const COMMANDS = [
  { command: "true", targetMs: 8 },
  { command: "node -v", targetMs: 15 },
];

interface Burst {
  createMs: number[];
  bothMs: number[];
  // The processor time of one create and command, until the last command of the burst has ended.
  machineMs: number;
  serverMs: number;
}

async function measure(server: BenchServer, command: string, count: number): Promise<Burst> {
  const used = () => ({ machine: machineMs(), server: processorMs(server.berth.pid()) });
  const { sessions: _, ...burst } = await startAll(server, command, count, used, server.caller.destroy);
  return burst;
}

// `used` is the processor time so far, and `after` follows each command.
async function startAll(
  { caller }: BenchServer,
  command: string,
  count: number,
  used: () => { machine: number; server: number },
  after?: (session: Session) => Promise<void>,
): Promise<Burst & { sessions: Session[] }> {
  const before = used();
  const [createMs, bothMs]: [number[], number[]] = [[], []];
  let end = before;
  const startedMs = performance.now();
  const begin = async (): Promise<Session> => {
    const session = await caller.create();
    createMs.push(performance.now() - startedMs);
    await caller.exec(session.sandboxId, command);
    if (bothMs.push(performance.now() - startedMs) === count) end = used();
    await after?.(session);
    return session;
  };
  const sessions = await Promise.all(Array.from({ length: count }, begin));
  return {
    sessions,
    createMs,
    bothMs,
    machineMs: (end.machine - before.machine) / count,
    serverMs: (end.server - before.server) / count,
  };
}

// The first burst of a server, whose default pool serves two of the creates. Each round has a new server.
async function measureFirst(run: Run): Promise<Section> {
  const count = run.isShort ? 20 : 100;
  await using raw = await openRawContainers(run);
  const bursts: Burst[] = [];
  const alone: Record<string, number[]> = { [STARTS_ALONE]: [], [BY_HAND]: [] };
  for (let round = 0; round < run.rounds(2, 1); round++) {
    run.progress(`default pool, round ${round + 1}`);
    // Half before and half after, because the speed of a machine changes within minutes.
    const before = await measureAlone(raw, count / 2);
    bursts.push(await measureFirstBurst(run, count));
    const after = await measureAlone(raw, count / 2);
    for (const [what, ms] of Object.entries(after)) alone[what]!.push((before[what]! + ms) / 2);
  }
  return {
    title: `A create and \`true\`, ${count} at once, default pool, first burst`,
    rows: [
      { what: "create", unit: "ms", values: bursts.flatMap((burst) => burst.createMs) },
      { what: "create and command", unit: "ms", values: bursts.flatMap((burst) => burst.bothMs) },
      {
        what: "processor time of each",
        unit: "ms",
        values: bursts.map((burst) => burst.machineMs),
        beside: STARTS_ALONE,
        targets: [{ of: "ratio", atMost: 1.2 }],
      },
      { what: "of that, the server and its programs", unit: "ms", values: bursts.map((burst) => burst.serverMs) },
      ...Object.entries(alone).map(([what, values]): Row => ({ what, unit: "ms", values })),
    ],
  };
}

const STARTS_ALONE = "`runc run` and the daemon's start alone, processor time";
const BY_HAND = "a sandbox that is started, runs `true` and is ended without a server, processor time";

const measureAlone = async (raw: RawContainers, count: number): Promise<Record<string, number>> => ({
  [STARTS_ALONE]: await startsAloneMs(raw, count),
  [BY_HAND]: await sandboxesAloneMs(raw, count, "true"),
});

async function measureFirstBurst(run: Run, count: number): Promise<Burst> {
  await using server = await openServer(run);
  const pid = server.berth.pid();
  const used = () => ({ machine: machineMs(), server: processorMs(pid) + childrenMs(pid) });
  const { sessions, ...burst } = await startAll(server, "true", count, used);
  await Promise.all(sessions.map(server.caller.destroy));
  await server.settle();
  return burst;
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
