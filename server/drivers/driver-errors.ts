import { AppError, isAppError } from "@berth/contract";

// Runs an operation of a driver so that it rejects as driver.ts promises: with the abort reason, or with an AppError.
export async function withDriverErrors<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  try {
    signal.throwIfAborted();
    return await work();
  } catch (error) {
    // The caller can act on a lack of capacity, so report it even if the deadline has passed as well.
    if (isAppError(error, "capacity_reached")) throw error;
    if (signal.aborted) throw signal.reason;
    if (isAppError(error)) throw error;
    if (isDiskFull(error)) throw new AppError("server_disk_full", { cause: error });
    const isExhausted = EXHAUSTED.has((error as NodeJS.ErrnoException | null)?.code ?? "");
    throw new AppError(isExhausted ? "capacity_reached" : "sandbox_failed", { cause: error });
  }
}

// The machine has run out of open files, memory or processes.
const EXHAUSTED = new Set(["EMFILE", "ENFILE", "ENOMEM", "EAGAIN"]);

// A program that we ran, such as cp, only says it in its output.
function isDiskFull(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string };
  return code === "ENOSPC" || code === "EDQUOT" || message?.includes("No space left on device") === true;
}
