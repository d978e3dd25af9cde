// `npm run bench -- {name} [--short] [--out folder] [--only part …] [--rounds n] [--seconds n]`. bench/README.md lists the benchmarks.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Benchmark, Run } from "./support/benchmark.ts";
import { describeMachine, findDisturbances } from "./report/machine.ts";
import { drawPlot } from "./report/plot.ts";
import { readSection, type Report, type Section } from "./report/report.ts";
import { createResources } from "./support/resources.ts";
import { formatSection } from "./report/table.ts";

const BENCHMARKS: Record<string, () => Promise<{ benchmark: Benchmark }>> = {
  burst: () => import("./benchmarks/sandboxes/burst.ts"),
  tti: () => import("./benchmarks/sandboxes/tti.ts"),
  commands: () => import("./benchmarks/programs/commands.ts"),
  e2b: () => import("./benchmarks/facades/e2b.ts"),
  computesdk: () => import("./benchmarks/facades/computesdk.ts"),
  docker: () => import("./benchmarks/sandboxes/docker.ts"),
  throughput: () => import("./benchmarks/sandboxes/throughput.ts"),
  api: () => import("./benchmarks/server/api.ts"),
  "pause-resume": () => import("./benchmarks/sandboxes/pause-resume.ts"),
  snapshots: () => import("./benchmarks/sandboxes/snapshots.ts"),
  terminal: () => import("./benchmarks/programs/terminal.ts"),
  workspace: () => import("./benchmarks/browser/workspace.ts"),
  files: () => import("./benchmarks/browser/files.ts"),
  density: () => import("./benchmarks/sandboxes/density.ts"),
  growth: () => import("./benchmarks/server/growth.ts"),
  restart: () => import("./benchmarks/server/restart.ts"),
  work: () => import("./benchmarks/programs/work.ts"),
  workers: () => import("./benchmarks/server/workers.ts"),
  console: () => import("./benchmarks/browser/console.ts"),
  usage: () => import("./benchmarks/server/usage.ts"),
  "model-relay": () => import("./benchmarks/server/model-relay.ts"),
  images: () => import("./benchmarks/sandboxes/images.ts"),
};

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    short: { type: "boolean", default: false },
    out: { type: "string", default: join(import.meta.dirname, "runs") },
    only: { type: "string", multiple: true, default: [] },
    rounds: { type: "string" },
    seconds: { type: "string", default: "Infinity" },
  },
});
const resources = createResources();
let isInterrupted = false;
// The sections that an interrupted run can still report.
let current: { report: () => Report; kept: Section[] } | undefined;
// A second signal, such as npm's, must not end the removal.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => void interrupt());

const names = positionals[0] === "all" ? Object.keys(BENCHMARKS) : positionals;
if (names.length === 0 || names.some((name) => !(name in BENCHMARKS))) {
  console.error(`Name a benchmark: ${Object.keys(BENCHMARKS).join(", ")}, or all.`);
  process.exit(2);
}
try {
  for (const name of names) await measure(name, positionals[0] === "all" || options.short);
} catch (error) {
  // After an interrupt, everything that is still measured fails.
  if (isInterrupted) await new Promise(() => {});
  throw error;
} finally {
  if (!isInterrupted) await resources[Symbol.asyncDispose]();
}

async function measure(name: string, isShort: boolean): Promise<void> {
  const { benchmark } = await BENCHMARKS[name]!();
  const machine = await describeMachine();
  const startedAt = new Date().toISOString();
  const startedMs = performance.now();
  const remarks = new Set<string>();
  const disturbances = findDisturbances();
  const kept: Section[] = [];
  const describe = (sections: readonly Section[]): Report => {
    const tookS = Math.round((performance.now() - startedMs) / 1000);
    return { benchmark: name, startedAt, tookS, isShort, machine, remarks: [...disturbances, ...remarks], sections };
  };
  current = { report: () => describe(kept), kept };
  const run: Run = {
    isShort,
    resources,
    wants: (part) => options.only.length === 0 || isNamed(part),
    asksFor: isNamed,
    rounds: (full, short) => Number(options.rounds ?? (isShort ? short : full)),
    isOver: () => performance.now() - startedMs > Number(options.seconds) * 1000,
    keep(section) {
      kept.push(section);
      return section;
    },
    progress: (sentence) => console.error(`${name}: ${sentence}`),
    remark: (sentence) => remarks.add(sentence),
  };
  console.error(`${name}: ${benchmark.summary}`);
  const sections = await benchmark.run(run);
  current = undefined;
  const report = describe(sections);
  print(report);
  await write(report);
}

function isNamed(part: string): boolean {
  return options.only.some((wanted) => wanted.split(" ").every((word) => part.includes(word)));
}

function print({ benchmark, machine, remarks, sections, tookS }: Report): void {
  const { cores, processor, architecture, kernel, node, memoryGb, driver, commit } = machine;
  console.log(
    `\n${benchmark}: ${cores} cores (${processor}), ${architecture}, ${kernel}, ${memoryGb} GB, Node ${node}, ${driver}, commit ${commit}`,
  );
  for (const remark of remarks) console.log(`! ${remark}`);
  for (const section of sections) console.log(`\n${formatSection(readSection(section))}`);
  console.log(`\n${tookS} s`);
}

async function write(report: Report): Promise<void> {
  await mkdir(options.out, { recursive: true });
  const file = join(options.out, report.benchmark);
  await writeFile(`${file}.json`, `${JSON.stringify(report, null, 1)}\n`);
  await writeFile(`${file}.svg`, drawPlot(report.sections.map(readSection)));
  console.log(`Written: ${file}.json, ${file}.svg`);
}

async function interrupt(): Promise<void> {
  if (isInterrupted) return;
  isInterrupted = true;
  console.error("interrupted; removing what this run has created");
  try {
    if (current && current.kept.length > 0) {
      print(current.report());
      await write(current.report());
    }
    await resources[Symbol.asyncDispose]();
  } catch (error) {
    console.error(error);
  }
  process.exit(130);
}
