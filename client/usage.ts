import { readJson, type Transport } from "./http/transport.ts";
import type { UsageReport, UsageRequest } from "./types/api-types.ts";

export interface UsageReader {
  // The usage of your sessions. The default is the last 30 days.
  usage(request?: UsageRequest): Promise<UsageReport>;
  // The same as CSV.
  usageCsv(request?: UsageRequest): Promise<string>;
}

export function createUsageReader(send: Transport): UsageReader {
  const get = ({ from, to, groupBy = [] }: UsageRequest, accept: string) => {
    const query = { from, to, groupBy: groupBy.length > 0 ? groupBy.join(",") : undefined };
    return send({ method: "GET", url: "/api/b2b/usage", query, headers: { accept } });
  };
  return {
    usage: (request = {}) => readJson(get(request, "application/json")),
    usageCsv: async (request = {}) => (await get(request, "text/csv")).text(),
  };
}
