import type { Config } from "../config/config.ts";
import type { TraceContext } from "./trace-context.ts";

export type Sample = (traceId: string, parent: TraceContext | null) => boolean;

// Decides which traces are exported, as OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG say.
export function createSampler(name: Config["tracesSampler"], ratio: number): Sample {
  const root = rootSampler(name.replace("parentbased_", ""), ratio);
  return name.startsWith("parentbased_") ? (traceId, parent) => parent?.isSampled ?? root(traceId) : root;
}

// The last 56 bits of a trace id are random.
const RANDOM_DIGITS = 14;

function rootSampler(name: string, ratio: number): (traceId: string) => boolean {
  if (name === "always_on") return () => true;
  if (name === "always_off") return () => false;
  return (traceId) => Number.parseInt(traceId.slice(-RANDOM_DIGITS), 16) < ratio * 16 ** RANDOM_DIGITS;
}
