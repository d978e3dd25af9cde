import { BerthError, ConnectionError } from "./errors.ts";
import { serverSentEvents } from "./streams.ts";
import type { Transport } from "./transport.ts";
import { wait } from "./wait.ts";

// Reads what goes on in a session without its caller. A pause, or a restart of the server, is no error if it lasts half a minute.

const RETRY_MS = 1000;
const MAX_TRIES = 30;

// Yields the events of a stream whose last one is `end`. A lost connection is opened again, after the last event that came.
export async function* follow<Event extends { type: string }>(send: Transport, url: string, signal?: AbortSignal): AsyncGenerator<Event> {
  let lastId: string | undefined;
  for (let tries = 0; ; tries++) {
    try {
      const headers = { accept: "text/event-stream", ...(lastId === undefined ? {} : { "last-event-id": lastId }) };
      const response = await send({ method: "GET", url, headers, signal, streaming: true });
      for await (const event of serverSentEvents(response)) {
        const parsed = JSON.parse(event.data) as Event;
        lastId = event.id;
        tries = 0;
        yield parsed;
        if (parsed.type === "end") return;
      }
    } catch (error) {
      if (signal?.aborted || !mayContinue(error) || tries >= MAX_TRIES) throw error;
      // A run that waits for the setup of its session may wait for long.
      if (error instanceof BerthError && error.code === "run_waiting") tries = 0;
    }
    await wait(RETRY_MS, signal);
  }
}

// Calls `ask` until it has an answer.
export async function askUntil<T>(ask: () => Promise<T | undefined>, signal?: AbortSignal): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      const answer = await ask();
      if (answer !== undefined) return answer;
      tries = 0;
    } catch (error) {
      if (signal?.aborted || !mayContinue(error) || tries >= MAX_TRIES) throw error;
      await wait(RETRY_MS, signal);
    }
  }
}

const PASSING = new Set(["session_paused", "run_waiting"]);

// A pause closes the stream. While the session is paused, or the server restarts, what goes on in it is still there.
function mayContinue(error: unknown): boolean {
  if (!(error instanceof BerthError)) return error instanceof TypeError;
  return error instanceof ConnectionError || PASSING.has(error.code) || (error.status ?? 0) >= 500;
}
