// Settles like `promise`, or rejects with `timeoutError()` after `timeoutMs`. The timer does not keep the process alive.
export async function withTimeout<T>(promise: Promise<T>, timeoutMs: number, timeoutError: () => Error): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(timeoutError()), timeoutMs).unref();
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
