import { Command, InvalidArgumentError } from "commander";
import { isAppError, type Usage, type UsageGroup } from "@berth/contract";
import { getPartner, listPartners } from "@berth/server/keys/partners.ts";
import { GROUP_FIELDS } from "@berth/server/store/usage/usage-row.ts";
import { usageCsv } from "@berth/server/usage/usage-csv.ts";
import { createUsageReports } from "@berth/server/usage/usage-reports.ts";
import {
  DAY_ALLOWED,
  daysOf,
  findDaysFault,
  GROUPS_ALLOWED,
  parseDay,
  parseGroups,
  type UsageRequest,
} from "@berth/server/usage/usage-request.ts";
import { withStore } from "../context.ts";
import { escapeControls } from "../terminal/escape-controls.ts";
import { clean, megabytes, orDash, show, table, type Column } from "../terminal/output.ts";

interface Options {
  json?: boolean;
  csv?: boolean;
  partner?: string;
  from?: number;
  to?: number;
  by: UsageGroup[];
}

type Row = Usage & { partnerId: string };

export const command = build();

function build(): Command {
  return new Command()
    .option("--partner <id>", "only this partner")
    .option("--from <day>", "first day, in UTC (default: 30 days before --to)", argument(parseDay, DAY_ALLOWED))
    .option("--to <day>", "first day after the report (default: tomorrow)", argument(parseDay, DAY_ALLOWED))
    .option("--by <groups>", "day, session, user, template, or several separated by commas", argument(parseGroups, GROUPS_ALLOWED), [])
    .option("--json", "print JSON")
    .option("--csv", "print CSV")
    .action(usage);
}

async function usage(options: Options): Promise<void> {
  await withStore(async ({ config, store, clock }) => {
    const days = daysOf({ fromDay: options.from, toDay: options.to }, clock.now());
    const fault = findDaysFault(days);
    if (fault !== undefined) throw new Error(`--from must be ${fault.replace(/to$/, "--to")}.`);
    const partners = options.partner ? [await getPartner(store.db, options.partner)] : await listPartners(store.db);
    const reports = createUsageReports({ store, clock, prices: config });
    const rows: Row[] = [];
    let currency: string | null = null;
    for (const { id } of partners) {
      const report = await reports.read(id, { ...days, groups: options.by } satisfies UsageRequest).catch(explain);
      currency = report.currency;
      rows.push(...report.data.map((row) => ({ partnerId: id, ...row })));
    }
    const names = ["partnerId", ...options.by.map((group) => GROUP_FIELDS[group])] as const;
    if (options.csv) process.stdout.write(forTerminal(usageCsv(rows, names, currency)));
    else show(options, { ...dayTexts(days), currency, data: rows }, () => table(rows, columnsOf(options.by, currency), "No usage."));
  });
}

// The output may go to a terminal, and user ids may contain its control characters.
const forTerminal = (csv: string): string => csv.split("\r\n").map(escapeControls).join("\r\n");

// The details say which limit was exceeded.
function explain(error: unknown): never {
  if (isAppError(error, "validation_failed")) throw new Error(`${error.details?.[0]?.message ?? error.message}.`);
  throw error;
}

const dayTexts = ({ fromDay, toDay }: Pick<UsageRequest, "fromDay" | "toDay">) => ({ from: dayText(fromDay), to: dayText(toDay) });
const dayText = (day: number) => new Date(day).toISOString().slice(0, 10);

function columnsOf(groups: readonly UsageGroup[], currency: string | null): Column<Row>[] {
  const amount = (name: string, value: (row: Row) => string): Column<Row> => ({ name, value, right: true });
  const size = (name: string, bytes: (row: Row) => number) =>
    amount(name, (row) => (bytes(row) === 0 ? orDash(null) : megabytes(bytes(row))));
  return [
    { name: "partner", value: ({ partnerId }) => partnerId },
    ...groups.map((group) => ({ name: group, value: (row: Row) => clean(row[GROUP_FIELDS[group]] ?? "", 32) })),
    amount("running", ({ runningSeconds }) => hours(runningSeconds)),
    amount("paused", ({ pausedSeconds }) => hours(pausedSeconds)),
    amount("hibernated", ({ hibernatedSeconds }) => hours(hibernatedSeconds)),
    amount("cpu", ({ cpuSeconds }) => hours(cpuSeconds)),
    size("memory", ({ memoryPeakBytes }) => memoryPeakBytes),
    size("disk", ({ diskPeakBytes }) => diskPeakBytes),
    size("sent", ({ egressBytes }) => egressBytes),
    size("received", ({ ingressBytes }) => ingressBytes),
    amount("tokens", ({ inputTokens, outputTokens }) => orDash(inputTokens + outputTokens || null)),
    ...(currency === null ? [] : [amount(currency, ({ estimatedCost }) => (estimatedCost ?? 0).toFixed(2))]),
  ];
}

// 12:34:56
function hours(seconds: number): string {
  if (seconds === 0) return orDash(null);
  const whole = Math.round(seconds);
  return [Math.floor(whole / 3600), ...[Math.floor(whole / 60) % 60, whole % 60].map((part) => String(part).padStart(2, "0"))].join(":");
}

function argument<T>(parse: (text: string) => T | undefined, allowed: string): (text: string) => T {
  return (text) => {
    const value = parse(text);
    if (value === undefined) throw new InvalidArgumentError(`Allowed: ${allowed}.`);
    return value;
  };
}
