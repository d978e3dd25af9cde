import { matching, price } from "../kinds.ts";
import { variable } from "../variable.ts";

const priceOf = (name: string, unit: string) =>
  variable<number | null>({
    name: `BERTH_PRICE_${name}`,
    kind: price,
    default: null,
    defaultHelp: "free",
    help: `Price of ${unit}. \`0\` is free too.`,
  });

// Unit prices, from which reports estimate costs.
export const USAGE_VARIABLES = {
  priceCurrency: variable({
    name: "BERTH_PRICE_CURRENCY",
    kind: matching(/^[A-Z]{3}$/, "three capital letters, such as EUR"),
    default: "USD",
    help: "Currency of the prices. Usage reports have an `estimatedCost` if at least one price is set.",
  }),
  priceRunningHour: priceOf("RUNNING_HOUR", "an hour in which a session is running"),
  pricePausedHour: priceOf("PAUSED_HOUR", "an hour in which a session is paused and keeps its memory"),
  priceHibernatedHour: priceOf("HIBERNATED_HOUR", "an hour in which only the files of a session are kept"),
  priceCpuHour: priceOf("CPU_HOUR", "an hour of processor time"),
  priceEgressGb: priceOf("EGRESS_GB", "10^9 bytes that sandboxes send to the network"),
  priceInputTokens: priceOf("INPUT_TOKENS", "a million tokens that agents send to the model"),
  priceOutputTokens: priceOf("OUTPUT_TOKENS", "a million tokens that agents receive from the model"),
};
