import { useEffect, useState } from "react";
import type { ConsoleSessionDetail, ConsoleStats } from "@berth/contract/console.ts";
import { bytes, count, duration } from "../../parts/format.ts";
import { Meter, Stat } from "../../parts/stat.tsx";

// The current use of the sandbox against its limits, and the usage of the session so far.
export function SessionUse({ session: { now, limits, usage } }: { session: ConsoleSessionDetail }) {
  const processors = useProcessors(now);
  const percent = (value: number) => `${Math.round(value * 100)} %`;
  return (
    <>
      {now && limits && (
        <section aria-label="Now" className="stats">
          {processors !== null && <Meter name="CPU" used={processors} total={limits.cpus} format={percent} />}
          {processors === null && now.cpuMs !== null && <Stat name="CPU" value="…" />}
          {now.memoryBytes !== null && <Meter name="Memory" used={now.memoryBytes} total={limits.memoryBytes} format={bytes} />}
          {now.diskBytes !== null && <Meter name="Disk" used={now.diskBytes} total={limits.diskBytes} format={bytes} />}
          {now.processes !== null && <Meter name="Processes" used={now.processes} total={limits.processes} format={count} />}
        </section>
      )}
      <h2>Usage in the last 31 days</h2>
      <section aria-label="Usage" className="stats">
        <Stat
          name="Running"
          value={duration(usage.runningSeconds * 1000)}
          note={`paused ${duration(usage.pausedSeconds * 1000)}, hibernated ${duration(usage.hibernatedSeconds * 1000)}`}
        />
        <Stat name="CPU time" value={usage.cpuSeconds < 10 ? `${usage.cpuSeconds.toFixed(1)} s` : duration(usage.cpuSeconds * 1000)} />
        <Stat name="Memory peak" value={sampled(usage.memoryPeakBytes)} note={`mean ${sampled(usage.memoryMeanBytes)}`} />
        <Stat name="Disk peak" value={sampled(usage.diskPeakBytes)} />
        <Stat name="Network" value={bytes(usage.egressBytes)} note={`sent; ${bytes(usage.ingressBytes)} received`} />
        <Stat
          name="Agent tokens"
          value={count(usage.inputTokens + usage.outputTokens)}
          note={`${count(usage.outputTokens)} of them output`}
        />
      </section>
    </>
  );
}

// Before the first sample, and if the engine does not measure it, there is no value.
const sampled = (value: number): string => (value === 0 ? "–" : bytes(value));

// How many processors were busy between the last two samples; null before the second.
function useProcessors(now: ConsoleStats | null): number | null {
  const [samples, setSamples] = useState<(ConsoleStats | null)[]>([now]);
  useEffect(() => setSamples(([last]) => (last?.at === now?.at ? [last ?? null] : [now, last ?? null])), [now]);
  const [last, before] = samples;
  if (!last || !before || last.cpuMs === null || before.cpuMs === null || last.cpuMs < before.cpuMs) return null;
  const elapsedMs = Date.parse(last.at) - Date.parse(before.at);
  return elapsedMs > 0 ? (last.cpuMs - before.cpuMs) / elapsedMs : null;
}
