import { Gauge, type Registry } from "prom-client";
import { createScrapeReading } from "./scrape-reading.ts";

export interface QuotaUse {
  partnerId: string;
  maxSessions: number;
  live: number;
}

// Partners with a quota whose headroom is a time series of its own. Partners are created by operators, not by requests, but an
// installation may have thousands.
const MAX_PARTNERS = 20;

export function registerQuotaMetrics(registry: Registry, readUse: () => Promise<readonly QuotaUse[]>): void {
  const registers = [registry];
  const reading = createScrapeReading(async () =>
    (await readUse()).map(({ partnerId, maxSessions, live }) => ({
      partner: partnerId,
      maxSessions,
      left: Math.max(0, maxSessions - live),
    })),
  );
  new Gauge({
    name: "berth_quota_exhausted_partners",
    help: "Active partners whose limit of live sessions is reached",
    registers,
    async collect() {
      this.set((await reading())?.filter(({ left }) => left === 0).length ?? NaN);
    },
  });
  new Gauge({
    name: "berth_quota_headroom_sessions",
    help: `Sessions that a partner can still create within its limit, for the ${MAX_PARTNERS} partners with the smallest share left`,
    labelNames: ["partner"],
    registers,
    async collect() {
      const partners = (await reading()) ?? [];
      this.reset();
      const scarcest = partners.toSorted((a, b) => a.left / a.maxSessions - b.left / b.maxSessions).slice(0, MAX_PARTNERS);
      for (const { partner, left } of scarcest) this.set({ partner }, left);
    },
  });
}
