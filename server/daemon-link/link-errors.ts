import type { Readable } from "node:stream";
import { AppError, isAppError } from "@berth/contract";
import type { CancelSignal } from "../bounded-io/cancellation.ts";
import { readBody } from "../bounded-io/read-body.ts";

const MAX_TEXT_BYTES = 64 * 1024;

export const unreachable = (reason: string): AppError => new AppError("sandbox_unreachable", { cause: new Error(reason) });

// The error that a caller of a daemon link sees. An aborted signal's reason and an AppError keep their identity.
export function toLinkError(error: unknown, signal: CancelSignal | undefined): unknown {
  if (signal?.aborted) return signal.reason;
  return isAppError(error) ? error : new AppError("sandbox_unreachable", { cause: error });
}

// Reads a short response of a daemon as text.
export async function readResponseText(body: Readable): Promise<string> {
  return String(await readBody(body, MAX_TEXT_BYTES, () => unreachable("the response is too long")));
}
