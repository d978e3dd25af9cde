import type { FastifyInstance, FastifyRequest } from "fastify";
import { MAX_USAGE_DAYS, USAGE_GROUPS, type FieldFault, type UsageGroup } from "@berth/contract";
import { DAY, type Clock } from "../../clock.ts";
import { dayOf, nextDay } from "../../store/usage/days.ts";
import { usageCsv } from "../../usage/usage-csv.ts";
import type { UsageReports, UsageRequest } from "../../usage/usage-reports.ts";
import { requireNoFaults } from "../requests/field-faults.ts";
import { addRoute } from "../requests/route.ts";
import { single, type Query } from "../session-format/list-query.ts";
import { partnerIdOf } from "./route-context.ts";

const DEFAULT_DAYS = 30;

// The usage of a partner's own sessions.
export function addUsageRoutes(app: FastifyInstance, { usage, clock }: { usage: UsageReports; clock: Clock }): void {
  addRoute(app, "getUsage", async (request, reply) => {
    const { format, ...asked } = parseQuery(request, clock.now());
    const report = await usage.read(partnerIdOf(request), asked);
    if (format === "json") return report;
    // A string without a serializer: the route's schema is that of the JSON.
    return reply
      .type("text/csv; charset=utf-8")
      .header("content-disposition", `attachment; filename="usage-${report.from}-${report.to}.csv"`)
      .serializer((text: string) => text)
      .send(usageCsv(report, asked.groups));
  });
}

function parseQuery(request: FastifyRequest, nowMs: number): UsageRequest & { format: "json" | "csv" } {
  const faults: FieldFault[] = [];
  const query = request.query as Query;
  const toDay = parseDay(query, "to", faults) ?? nextDay(dayOf(nowMs));
  const fromDay = parseDay(query, "from", faults) ?? toDay - DEFAULT_DAYS * DAY;
  if (faults.length === 0 && fromDay >= toDay) faults.push({ field: "from", message: "Must be before to" });
  if (faults.length === 0 && toDay - fromDay > MAX_USAGE_DAYS * DAY)
    faults.push({ field: "from", message: `Must be at most ${MAX_USAGE_DAYS} days before to` });
  const groups = parseGroups(query, faults);
  const format = single(query, "format", faults) ?? (wantsCsv(request) ? "csv" : "json");
  if (format !== "json" && format !== "csv") faults.push({ field: "format", message: "Must be json or csv" });
  requireNoFaults(faults);
  return { fromDay, toDay, groups, format: format === "csv" ? "csv" : "json" };
}

function parseDay(query: Query, name: string, faults: FieldFault[]): number | undefined {
  const text = single(query, name, faults);
  if (text === undefined) return undefined;
  const day = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : NaN;
  // Date.parse accepts the 31st of every month.
  if (!Number.isNaN(day) && new Date(day).toISOString().startsWith(text)) return day;
  faults.push({ field: name, message: "Must be a day, such as 2030-01-31" });
  return undefined;
}

function parseGroups(query: Query, faults: FieldFault[]): UsageGroup[] {
  const text = single(query, "groupBy", faults);
  if (text === undefined || text === "") return [];
  const groups = text.split(",").filter(isGroup);
  if (groups.length !== text.split(",").length || new Set(groups).size !== groups.length)
    faults.push({ field: "groupBy", message: `Must be one or more of ${USAGE_GROUPS.join(", ")}, separated by commas, each once` });
  return groups;
}

const isGroup = (text: string): text is UsageGroup => (USAGE_GROUPS as readonly string[]).includes(text);

const wantsCsv = ({ headers }: FastifyRequest): boolean => headers.accept?.includes("text/csv") ?? false;
