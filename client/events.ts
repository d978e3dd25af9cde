import { ConnectionError, ServerError } from "./http/errors.ts";
import { serverSentEvents } from "./http/streams.ts";
import { readJson, type Transport } from "./http/transport.ts";
import { wait } from "./http/wait.ts";
import type { BerthEvent, Page } from "./types/api-types.ts";

export interface Events {
  // Past events, oldest first. `after` is the id of the last event that you have processed.
  list(options?: { after?: string; pageSize?: number }): AsyncIterable<BerthEvent>;
  // Events as they happen, until you leave the loop or abort. Reconnects after a failure without losing events.
  stream(options?: { after?: string; signal?: AbortSignal }): AsyncGenerator<BerthEvent>;
}

const PATH = "/api/b2b/events";
const RECONNECT_MS = 1000;

export function createEvents(send: Transport): Events {
  return {
    async *list({ after, pageSize } = {}) {
      for (;;) {
        const { data, nextCursor } = await readJson<Page<BerthEvent>>(
          send({ method: "GET", url: PATH, query: { after, limit: pageSize } }),
        );
        if (data.length === 0) return;
        yield* data;
        after = nextCursor ?? data.at(-1)?.id;
      }
    },
    async *stream({ after, signal } = {}) {
      while (!signal?.aborted) {
        try {
          for await (const event of connect(after, signal)) {
            after = event.id;
            yield event;
          }
        } catch (error) {
          if (!signal?.aborted && !isTemporary(error)) throw error;
        }
        await wait(RECONNECT_MS, signal).catch(() => {});
      }
    },
  };

  async function* connect(after?: string, signal?: AbortSignal): AsyncGenerator<BerthEvent> {
    const headers = { accept: "text/event-stream", ...(after === undefined ? {} : { "last-event-id": after }) };
    const response = await send({ method: "GET", url: PATH, headers, signal, streaming: true });
    for await (const { data } of serverSentEvents(response)) yield JSON.parse(data) as BerthEvent;
  }
}

// The service is restarting, or the connection broke (fetch throws a TypeError).
const isTemporary = (error: unknown) => error instanceof ConnectionError || error instanceof ServerError || error instanceof TypeError;
