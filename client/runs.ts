import { follow } from "./http/follow.ts";
import { paged, type Paged } from "./http/paging.ts";
import { readJson, type Transport } from "./http/transport.ts";
import type { ListRuns, Page, RunAnswer, RunAttachment, RunData, RunEvent, RunStarted, RunSummary, StartRun } from "./types/api-types.ts";

// Work of the session's coding agent that goes on without its caller.
export interface Runs {
  // Resolves when the run is accepted. With your own idempotency key, a retry after a crash of your process returns the run of the
  // first attempt.
  start(prompt: string, options?: Omit<StartRun, "prompt"> & { idempotencyKey?: string }): Promise<Run>;
  // A run whose id you know. Sends nothing.
  get(runId: string): Run;
  // Newest first.
  list(filter?: ListRuns): Paged<RunSummary>;
}

export interface Run {
  readonly id: string;
  // The run as it is now.
  get(): Promise<RunData>;
  // Yields what the agent has done so far, and what follows until the end. A lost connection is opened again, and nothing is repeated.
  follow(options?: { signal?: AbortSignal }): AsyncGenerator<RunEvent>;
  // Resolves when the run has ended, or when it waits for an answer: see `status` and `waitsFor`.
  wait(options?: { signal?: AbortSignal }): Promise<RunData>;
  // A further prompt, which the agent gets after the turn in progress.
  send(prompt: string, options?: { attachments?: RunAttachment[]; idempotencyKey?: string }): Promise<void>;
  answer(answer: RunAnswer): Promise<void>;
  // Stops the agent and everything that this run has started.
  interrupt(): Promise<void>;
}

export function createRuns(send: Transport, sessionPath: string): Runs {
  const path = `${sessionPath}/runs`;

  function bind(id: string): Run {
    const own = `${path}/${encodeURIComponent(id)}`;
    const get = () => readJson<RunData>(send({ method: "GET", url: own }));
    const run: Run = {
      id,
      get,
      follow: ({ signal } = {}) => follow(send, `${own}/events`, signal),
      async wait(options) {
        for await (const event of run.follow(options)) {
          if (event.type === "end" || (event.type === "run" && event.run.status === "needs_input")) break;
        }
        return await get();
      },
      async send(prompt, { attachments, idempotencyKey } = {}) {
        await send({
          method: "POST",
          url: `${own}/messages`,
          json: { prompt, attachments },
          idempotencyKey: idempotencyKey ?? true,
          repeatable: true,
        });
      },
      async answer(answer) {
        await send({ method: "POST", url: `${own}/answer`, json: answer });
      },
      async interrupt() {
        await send({ method: "POST", url: `${own}/interrupt`, repeatable: true });
      },
    };
    return run;
  }

  return {
    async start(prompt, { idempotencyKey, ...options } = {}) {
      const json = { prompt, ...options };
      const { runId } = await readJson<RunStarted>(
        send({ method: "POST", url: path, json, idempotencyKey: idempotencyKey ?? true, repeatable: true }),
      );
      return bind(runId);
    },
    get: bind,
    list: ({ status, pageSize } = {}) =>
      paged((cursor) => readJson<Page<RunSummary>>(send({ method: "GET", url: path, query: { status, limit: pageSize, cursor } }))),
  };
}
