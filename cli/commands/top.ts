import { setTimeout as delay } from "node:timers/promises";
import { Command } from "commander";
import { parseCount, parseDuration } from "../arguments.ts";
import { withStore } from "../context.ts";
import { clean, isoOf, megabytes, orDash, relative, show, state, table } from "../terminal/output.ts";
import { style } from "../terminal/style.ts";
import { showLive } from "../top/live-screen.ts";
import { openSampler, type Measured } from "../top/sample.ts";

interface Options {
  json?: boolean;
  limit: number;
  interval: number;
}

export const command = build();

function build(): Command {
  return new Command()
    .option("--limit <n>", "maximum number of sessions", parseCount, 200)
    .option("--interval <time>", "time between two samples", parseDuration, 2000)
    .option("--json", "print one sample as JSON")
    .action(top);
}

// On a terminal the table is live. Otherwise it is printed once.
async function top(options: Options): Promise<void> {
  await withStore(async ({ config, store, clock }) => {
    await using sampler = await openSampler(config, store, clock, options.limit);
    const isLive = process.stdout.isTTY && process.stdin.isTTY && !options.json;
    if (isLive) return showLive(async (rows) => fit(draw(await sampler.sample()), rows), options.interval);
    // The use of processors needs two samples.
    await sampler.sample();
    await delay(Math.min(options.interval, 1000));
    const measured = await sampler.sample();
    show(options, measured.map(measuredJson), () => draw(measured));
  });
}

function draw(measured: Measured[]): string {
  const running = measured.filter(({ session }) => session.status === "running").length;
  const cpu = sum(measured.map(({ cpuPercent }) => cpuPercent));
  const memory = sum(measured.map(({ memoryBytes }) => memoryBytes));
  const summary = `${style.bold(String(running))} running, ${style.bold(String(measured.length - running))} paused   ${percentText(cpu)} CPU   ${megabytes(memory)} memory`;
  const rows = table(
    measured,
    [
      { name: "session", value: ({ session }) => session.id },
      { name: "partner", value: ({ session }) => session.partnerId },
      { name: "user", value: ({ session }) => clean(session.externalUserId ?? "", 20) },
      { name: "status", value: ({ session }) => state(session.status ?? session.state) },
      { name: "template", value: ({ session }) => clean(session.template, 16) },
      { name: "created", value: ({ session }) => relative(session.createdAt) },
      { name: "cpu", value: ({ cpuPercent }) => (cpuPercent === null ? orDash(null) : percentText(cpuPercent)), right: true },
      { name: "memory", value: ({ memoryBytes }) => (memoryBytes === null ? orDash(null) : megabytes(memoryBytes)), right: true },
      { name: "processes", value: ({ processes }) => orDash(processes), right: true },
    ],
    "No sessions.",
  );
  return `${summary}\n\n${rows}`;
}

// Cuts lines that do not fit the terminal, and says how to leave.
function fit(text: string, rows: number): string {
  const lines = text.trimEnd().split("\n");
  const room = Math.max(1, rows - 2);
  const hidden = lines.length - room;
  const shown = hidden > 0 ? lines.slice(0, room) : lines;
  const hint = hidden > 0 ? `${hidden} more sessions do not fit. Press q to leave.` : "Press q to leave.";
  return `${shown.join("\n")}\n${style.dim(hint)}`;
}

const sum = (values: (number | null)[]): number => values.reduce<number>((total, value) => total + (value ?? 0), 0);
const percentText = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} %`;

const measuredJson = ({ session, cpuPercent, memoryBytes, processes }: Measured) => ({
  sessionId: session.id,
  sandboxId: session.sandboxId,
  partnerId: session.partnerId,
  externalUserId: session.externalUserId,
  status: session.status,
  template: session.template,
  createdAt: isoOf(session.createdAt),
  cpuPercent: cpuPercent === null ? null : Math.round(cpuPercent * 10) / 10,
  memoryBytes,
  processes,
});
