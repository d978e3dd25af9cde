// The result of `work`, or a rejection with the signal's reason when the signal aborts first. The work itself continues: use
// this for work that takes no signal. A deadline is `AbortSignal.timeout(ms)`.
export function raceAbort<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason as Error);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  return Promise.race([work, aborted]).finally(() => signal.removeEventListener("abort", onAbort));
}
