import type { FastifyInstance, FastifyRequest } from "fastify";
import type { FieldFault } from "@berth/contract";
import type { Clock } from "../../clock.ts";
import { GROUP_FIELDS } from "../../store/usage/usage-row.ts";
import { usageCsv } from "../../usage/usage-csv.ts";
import type { UsageReports } from "../../usage/usage-reports.ts";
import { DAY_ALLOWED, daysOf, findDaysFault, GROUPS_ALLOWED, parseDay, parseGroups, type UsageRequest } from "../../usage/usage-request.ts";
import { requireNoFaults } from "../requests/field-faults.ts";
import { addRoute } from "../requests/route.ts";
import { single, type Query } from "../session-format/list-query.ts";
import { partnerIdOf } from "./route-context.ts";

// The usage of a partner's own sessions.
export function addUsageRoutes(app: FastifyInstance, { usage, clock }: { usage: UsageReports; clock: Clock }): void {
  addRoute(app, "getUsage", async (request, reply) => {
    const { format, ...asked } = parseQuery(request, clock.now());
    const report = await usage.read(partnerIdOf(request), asked);
    if (format === "json") return report;
    const names = asked.groups.map((group) => GROUP_FIELDS[group]);
    return (
      reply
        .type("text/csv; charset=utf-8")
        .header("content-disposition", `attachment; filename="usage-${report.from}-${report.to}.csv"`)
        // The route's schema is that of the JSON.
        .serializer((text: string) => text)
        .send(usageCsv(report.data, names, report.currency))
    );
  });
}

function parseQuery(request: FastifyRequest, nowMs: number): UsageRequest & { format: "json" | "csv" } {
  const faults: FieldFault[] = [];
  const query = request.query as Query;
  const read = <T>(name: string, parse: (text: string) => T | undefined, allowed: string): T | undefined => {
    const text = single(query, name, faults);
    const value = text === undefined ? undefined : parse(text);
    if (text !== undefined && value === undefined) faults.push({ field: name, message: `Must be ${allowed}` });
    return value;
  };
  const toDay = read("to", parseDay, DAY_ALLOWED);
  const fromDay = read("from", parseDay, DAY_ALLOWED);
  const groups = read("groupBy", parseGroups, GROUPS_ALLOWED) ?? [];
  const format = read("format", parseFormat, "json or csv") ?? (wantsCsv(request) ? "csv" : "json");
  const days = daysOf({ fromDay, toDay }, nowMs);
  const fault = faults.length === 0 ? findDaysFault(days) : undefined;
  if (fault !== undefined) faults.push({ field: "from", message: `Must be ${fault}` });
  requireNoFaults(faults);
  return { ...days, groups, format };
}

const parseFormat = (text: string) => (text === "json" || text === "csv" ? text : undefined);

const wantsCsv = ({ headers }: FastifyRequest): boolean => headers.accept?.includes("text/csv") ?? false;
