import { AppError, isAppError } from "@berth/contract";

// Runs a step of a driver. What goes wrong in it is the sandbox's failure, unless the caller gave up or the error speaks
// our language already.
export async function withDriverErrors<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  try {
    signal.throwIfAborted();
    return await work();
  } catch (error) {
    // That there was no room is worth more to the caller than that his time was up.
    if (isAppError(error, "capacity_reached")) throw error;
    if (signal.aborted) throw signal.reason;
    if (isAppError(error)) throw error;
    const exhausted = EXHAUSTED.has((error as NodeJS.ErrnoException | null)?.code ?? "");
    throw new AppError(exhausted ? "capacity_reached" : "sandbox_failed", { cause: error });
  }
}

// The machine has no room left: disk, open files, memory, processes. It passes, so the caller may try again.
const EXHAUSTED = new Set(["ENOSPC", "EDQUOT", "EMFILE", "ENFILE", "ENOMEM", "EAGAIN"]);
