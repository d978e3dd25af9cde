import type { ReadRow } from "./report.ts";
import type { Result } from "./results.ts";
import { formatNumber, formatTable } from "./table.ts";

// A row of docs/performance.md: one row of one benchmark's results, in words for a reader, and what no program can do better.
interface PageRow {
  label: string;
  benchmark: string;
  section: string;
  what: string;
  limit?: string;
  // The row of the same section that is this limit. The page then has its value and our ratio to it.
  limitRow?: string;
  // The target lies beyond the limit, so the limit takes its place.
  isBeyondLimit?: true;
}

const TTI = "Create to the output of `node -v`";
const BURST_TRUE = "A create and `true`, 100 at once, filled pool";

export const PAGE: readonly PageRow[] = [
  { label: "A create from the pool", benchmark: "commands", section: "A command, `true`", what: "create from the pool" },
  { label: "A command, `true`, in a sandbox", benchmark: "commands", section: "A command, `true`", what: "exec, hot" },
  { label: "The first command of a sandbox", benchmark: "commands", section: "A command, `true`", what: "exec, first of a sandbox" },
  {
    label: "Processor time of the server for a command",
    benchmark: "commands",
    section: "Processor time of a hot command",
    what: "server",
    limit: "a relay in Node, which is beside it",
  },
  {
    label: "Create and `node -v`, from a filled pool",
    benchmark: "tti",
    section: `${TTI}, one after the other`,
    what: "Berth, filled pool",
    limit: "`node -v` on the host",
    limitRow: "`node -v` on the host",
  },
  {
    label: "Create and `node -v`, without a pool",
    benchmark: "tti",
    section: `${TTI}, one after the other`,
    what: "Berth, no pool",
    limit: "`runc run`, without a daemon, a disk and a row",
    limitRow: "runc run",
  },
  {
    label: "The same, one every 200 ms, default pool",
    benchmark: "tti",
    section: `${TTI}, one every 200 ms`,
    what: "Berth, default pool",
    limit: "each refill is a cold create on the same cores",
  },
  {
    label: "100 creates with `true` at once, filled pool",
    benchmark: "burst",
    section: BURST_TRUE,
    what: "create and command",
    limit: "100 times `true` on the host, two at a time (in any such queue the last takes twice as long as the median)",
    limitRow: "`true` on the host, 100 in a queue of two",
    isBeyondLimit: true,
  },
  {
    label: "Processor time of each of them",
    benchmark: "burst",
    section: BURST_TRUE,
    what: "processor time of each",
    limit: "`true` on the host, which is beside it",
  },
  {
    label: "The same with `node -v`",
    benchmark: "burst",
    section: "A create and `node -v`, 100 at once, filled pool",
    what: "processor time of each",
    limit: "`node -v` on the host, which is beside it",
  },
  {
    label: "A create with `true`, 100 at once, default pool, processor time of each",
    benchmark: "burst",
    section: "A create and `true`, 100 at once, default pool, first burst",
    what: "processor time of each",
    limit: "the same sandbox and command by hand: no server, row, disk or user namespace of its own creator",
    limitRow: "a sandbox that is started, runs `true` and is ended without a server, processor time",
  },
  {
    label: "Create and `node -v` on Docker, 20 at once, no pool",
    benchmark: "docker",
    section: `${TTI} on Docker, 20 at once`,
    what: "Berth on Docker, no pool",
    limit: "each sandbox also has a disk and a daemon (90 ms of processor time)",
  },
  {
    label: "Processor time of a create and a destroy, no pool, all counted",
    benchmark: "throughput",
    section: "Create and destroy, callers: 1",
    what: "CPU of the machine, a pair",
    limit: "the same sandbox by hand: no server, row, disk or user namespace of its own creator",
    limitRow: "CPU of a sandbox that is started, called and ended without a server",
  },
  {
    label: "Resume",
    benchmark: "pause-resume",
    section: "Pause and resume of a session whose memory stays",
    what: "Berth, resume",
    limit: "waits for the daemon and a sync, which runc does not",
  },
  {
    label: "Processor time of GET session, SQLite",
    benchmark: "api",
    section: "CPU of the server for a request, 16 connections",
    what: "GET session, SQLite",
    limit: "a route of Fastify that reads the row and does nothing else",
    limitRow: "GET session, Fastify and SQLite",
  },
  {
    label: "Echo of a keystroke",
    benchmark: "terminal",
    section: "Echo of a keystroke",
    what: "Berth",
    limit: "two processes that only copy bytes",
    limitRow: "behind two empty relays",
    isBeyondLimit: true,
  },
  {
    label: "First visit until the editor is there",
    benchmark: "workspace",
    section: "A first visit to the workspace",
    what: "Berth, first editor",
    limit: "the browser compiles the editor on the same cores",
  },
  {
    label: "Private memory of an idle session",
    benchmark: "density",
    section: "Memory of an idle session",
    what: "idle, private",
    limit: "a Node that does nothing, which is beside it",
  },
  {
    label: "`npm start` in a prepared clone",
    benchmark: "restart",
    section: "From the start to the first answer",
    what: "npm start",
    limit: "npm itself takes 0.3 s",
  },
  {
    label: "300 fsyncs in a sandbox",
    benchmark: "work",
    section: "Work in a sandbox and on the host",
    what: "300 fsyncs, sandbox",
    limit: "the writes and flushes of its journal, on the host",
    limitRow: "300 times the writes of a journal, host",
    isBeyondLimit: true,
  },
];

// The table of the page, and the days on which its rows were measured. A row that was not measured is left out.
export function formatPage(results: ReadonlyMap<string, readonly Result[]>): string {
  const found = PAGE.flatMap((row) => {
    const result = results.get(row.benchmark)?.find(({ title }) => title === row.section);
    const ours = result?.rows.find(({ what }) => what === row.what);
    return result && ours ? [{ row, ours, result }] : [];
  });
  const table = formatTable(
    ["what", "ours", "beside", "ratio", "target", "limit"],
    found.map(({ row, ours, result }) => formatRow(row, ours, result)),
  );
  const days = Map.groupBy(found, ({ result }) => result.startedAt.slice(0, 10));
  const measured = [...days]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([day, rows]) => `${day} (${[...new Set(rows.map(({ row }) => row.benchmark))].join(", ")})`);
  return `${table}\n\nMeasured on ${measured.join("; ")}.`;
}

function formatRow(row: PageRow, ours: ReadRow, { rows }: Result): string[] {
  const find = (name: string | undefined) => rows.find(({ what }) => what === name);
  const beside = find(ours.beside);
  return [
    `[${row.label}](../bench/results/${row.benchmark}.md)`,
    `${formatNumber(ours.p50)} ${ours.unit}${ours.count > 1 ? `, p99 ${formatNumber(ours.p99)}` : ""}`,
    beside ? `${ours.beside}: ${formatNumber(beside.p50)} ${beside.unit}` : "",
    ours.ratio === undefined ? "" : formatNumber(ours.ratio),
    row.isBeyondLimit ? "the limit" : (ours.verdict ?? ""),
    formatLimit(row, ours, find(row.limitRow)),
  ];
}

function formatLimit({ limit = "" }: PageRow, ours: ReadRow, found: ReadRow | undefined): string {
  return found ? `${limit}: ${formatNumber(found.p50)} ${found.unit}; ours is ${formatNumber(ours.p50 / found.p50)} ×` : limit;
}
