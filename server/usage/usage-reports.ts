import { AppError, MAX_USAGE_ROWS, type Usage, type UsageReport } from "@berth/contract";
import { SECOND, type Clock } from "../clock.ts";
import { createKeyedLock } from "../fairness/keyed-lock.ts";
import type { Store } from "../store/open.ts";
import { readUsage, TooManyRows } from "../store/usage/report.ts";
import { emptyRow, type Measured, type UsageRow } from "../store/usage/usage-row.ts";
import { costOf, type Prices } from "./cost.ts";
import type { UsageRequest } from "./usage-request.ts";

export interface UsageReports {
  // Reads the reports of one partner one after the other. Throws `validation_failed` if there are too many rows.
  read(partnerId: string, request: UsageRequest): Promise<UsageReport>;
}

const MAX_WAITING = 8;

export function createUsageReports({ store, clock, prices }: { store: Store; clock: Clock; prices: Prices }): UsageReports {
  const inTurn = createKeyedLock();
  const waiting = new Map<string, number>();

  async function read(partnerId: string, request: UsageRequest): Promise<UsageReport> {
    try {
      const rows = await readUsage(store.db, { ...request, partnerId, nowMs: clock.now(), maxRows: MAX_USAGE_ROWS });
      const data = rows.map((row) => toUsage(row, prices));
      const currency = costOf(emptyRow(), prices) === null ? null : prices.priceCurrency;
      return { from: dayText(request.fromDay), to: dayText(request.toDay), currency, data };
    } catch (error) {
      if (!(error instanceof TooManyRows)) throw error;
      const message = `The report has more than ${MAX_USAGE_ROWS} rows; choose fewer days or groups`;
      throw new AppError("validation_failed", { details: [{ field: "groupBy", message }] });
    }
  }

  return {
    async read(partnerId, request) {
      const before = waiting.get(partnerId) ?? 0;
      if (before >= MAX_WAITING) throw new AppError("rate_limited", { message: "Too many usage reports at once", retryAfterSeconds: 5 });
      waiting.set(partnerId, before + 1);
      try {
        return await inTurn(partnerId, () => read(partnerId, request));
      } finally {
        const left = waiting.get(partnerId)! - 1;
        if (left > 0) waiting.set(partnerId, left);
        else waiting.delete(partnerId);
      }
    },
  };
}

const dayText = (day: number): string => new Date(day).toISOString().slice(0, 10);

const toUsage = (row: UsageRow, prices: Prices): Usage => ({
  ...(row.day !== undefined && { day: dayText(row.day) }),
  ...(row.sessionId !== undefined && { sessionId: row.sessionId }),
  ...(row.externalUserId !== undefined && { externalUserId: row.externalUserId }),
  ...(row.template !== undefined && { template: row.template }),
  runningSeconds: row.ms.running / SECOND,
  pausedSeconds: row.ms.paused / SECOND,
  hibernatedSeconds: row.ms.hibernated / SECOND,
  cpuSeconds: row.cpuMs / SECOND,
  memoryPeakBytes: row.memory.peak,
  memoryMeanBytes: meanOf(row.memory),
  diskPeakBytes: row.disk.peak,
  diskMeanBytes: meanOf(row.disk),
  egressBytes: row.egressBytes,
  ingressBytes: row.ingressBytes,
  inputTokens: row.inputTokens,
  outputTokens: row.outputTokens,
  estimatedCost: costOf(row, prices),
});

const meanOf = ({ sum, samples }: Measured): number => (samples === 0 ? 0 : Math.round(sum / samples));
