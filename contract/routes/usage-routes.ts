import Type from "typebox";
import { MAX_USAGE_DAYS, MAX_USAGE_ROWS, USAGE_GROUPS, UsageReport } from "../schemas/usage.ts";
import { query, route } from "./route.ts";

const Day = Type.String({ format: "date" });

export const USAGE_ROUTES = {
  getUsage: route({
    method: "GET",
    path: "/api/b2b/usage",
    tag: "Usage",
    summary: "Get usage",
    description: `Returns what your sessions used, as JSON or as CSV. Days are those of UTC. A report has at most ${MAX_USAGE_ROWS} rows and ${MAX_USAGE_DAYS} days.`,
    query: [
      query("from", "The first day. The default is 30 days before `to`.", Day),
      query("to", "The first day after the report. The default is tomorrow, so that today is included.", Day),
      query(
        "groupBy",
        `One or more of ${USAGE_GROUPS.map((group) => `\`${group}\``).join(", ")}, separated by commas. Without it, the report is one row.`,
        Type.String(),
      ),
      query("format", "`csv` is the same as `Accept: text/csv`.", Type.Enum(["json", "csv"], { default: "json" })),
    ],
    success: { status: 200, description: "The usage.", schema: UsageReport, media: ["text/csv"] },
    errors: ["validation_failed"],
  }),
} as const;
