import { HOUR } from "../clock.ts";
import type { Config } from "../config/config.ts";
import type { UsageRow } from "../store/usage/usage-row.ts";

export type Prices = Pick<
  Config,
  | "priceCurrency"
  | "priceRunningHour"
  | "pricePausedHour"
  | "priceHibernatedHour"
  | "priceCpuHour"
  | "priceEgressGb"
  | "priceInputTokens"
  | "priceOutputTokens"
>;

const GIGABYTE = 1e9;
const MILLION = 1e6;

// Rounded to a millionth. null if no price is set.
export function costOf({ ms, cpuMs, egressBytes, inputTokens, outputTokens }: UsageRow, prices: Prices): number | null {
  const items: [amount: number, price: number | null][] = [
    [ms.running / HOUR, prices.priceRunningHour],
    [ms.paused / HOUR, prices.pricePausedHour],
    [ms.hibernated / HOUR, prices.priceHibernatedHour],
    [cpuMs / HOUR, prices.priceCpuHour],
    [egressBytes / GIGABYTE, prices.priceEgressGb],
    [inputTokens / MILLION, prices.priceInputTokens],
    [outputTokens / MILLION, prices.priceOutputTokens],
  ];
  const priced = items.flatMap(([amount, price]) => (price === null ? [] : [amount * price]));
  if (priced.length === 0) return null;
  return Math.round(priced.reduce((sum, cost) => sum + cost, 0) * MILLION) / MILLION;
}
