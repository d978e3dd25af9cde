import type { UsageReport } from "@berth/contract";
import type { Clock } from "../../clock.ts";
import { usageCsv } from "../../usage/usage-csv.ts";
import type { UsageReports } from "../../usage/usage-reports.ts";
import { daysOf, type UsageRequest } from "../../usage/usage-request.ts";
import type { ConsoleRoute } from "./console-api.ts";
import { requirePartner } from "./partners/partner-routes.ts";

// The usage of a partner by day, in the last 30 days.
export function usageRoutes({ usage, clock }: { usage: UsageReports; clock: Clock }): ConsoleRoute[] {
  const lastDays = (): UsageRequest => ({ ...daysOf({}, clock.now()), groups: ["day"] });
  return [
    { method: "GET", path: "/usage", handle: (access): Promise<UsageReport> => usage.read(requirePartner(access), lastDays()) },
    {
      method: "GET",
      path: "/usage.csv",
      async handle(access, _request, reply) {
        const { data, currency } = await usage.read(requirePartner(access), lastDays());
        return reply.type("text/csv; charset=utf-8").send(usageCsv(data, ["day"], currency));
      },
    },
  ];
}
