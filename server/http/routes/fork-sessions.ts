import { isAppError, type ForkedSessions, type Session } from "@berth/contract";
import type { Result, Save } from "../requests/idempotency.ts";

// Creates one session and stores its reply in the transaction of the create.
export type CreateOne = (save?: Save) => Promise<Result>;

// Runs a part of a request once, however often the request is repeated.
export type RunPart = (part: number, work: CreateOne) => Promise<Result>;

const PARALLEL = 4;

// Creates `count` sessions and returns a result for each of them. Throws if none could be created.
export async function forkSessions(count: number, runPart: RunPart, createOne: CreateOne): Promise<Result> {
  const results: ForkedSessions["sessions"] = Array.from({ length: count }, () => ({ session: null, error: null }));
  let firstError: unknown;
  // Not a response to the caller but a fault of the server: nothing else is begun, and what is under way ends first.
  let fault: unknown;
  let next = 0;
  async function lane(): Promise<void> {
    while (next < count && fault === undefined) {
      const part = next++;
      try {
        const { body } = await runPart(part, createOne);
        results[part] = { session: body as Session, error: null };
      } catch (error) {
        if (!isAppError(error)) return void (fault ??= error);
        firstError ??= error;
        results[part] = { session: null, error: { code: error.code, message: error.message } };
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(PARALLEL, count) }, lane));
  if (fault !== undefined) throw fault;
  if (results.every(({ session }) => session === null)) throw firstError;
  return { status: 207, body: { sessions: results } satisfies ForkedSessions };
}
