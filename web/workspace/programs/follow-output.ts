import type { Process, ProcessEvent } from "@berth/contract/daemon/processes.ts";
import type { Uses } from "../actions/actions.ts";
import { ApiError } from "../connection/api.ts";
import { createBackoff } from "../connection/backoff.ts";
import { readLines } from "../connection/read-lines.ts";

export interface OutputHandlers {
  // Resolves when the text is on the screen. Until then no more is read.
  write(text: string): Promise<void>;
  // This many bytes are no longer kept.
  dropped(bytes: number): Promise<void>;
  ended(process: Process): void;
  // The sandbox does not know the process any more.
  gone(): void;
}

// Reads the output of a process of the API until its end, over interruptions of the connection, without loss or repetition.
export function followOutput({ api, connections }: Uses<"api" | "connections">, id: string, handlers: OutputHandlers): Disposable {
  const stopped = new AbortController();
  const backoff = createBackoff();
  let lastId: string | null = null;
  let reading = new AbortController();
  let wake = () => {};
  const registration = connections.add({
    retryNow() {
      backoff.reset();
      wake();
    },
    reconnect() {
      backoff.reset();
      reading.abort();
      wake();
    },
  });
  void follow();
  return {
    [Symbol.dispose]() {
      stopped.abort();
      wake();
      registration[Symbol.dispose]();
    },
  };

  async function follow(): Promise<void> {
    while (!stopped.signal.aborted && !(await readOnce())) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, backoff.nextMs());
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  // Returns whether there is no more to come.
  async function readOnce(): Promise<boolean> {
    reading = new AbortController();
    try {
      const signal = AbortSignal.any([reading.signal, stopped.signal]);
      const headers: Record<string, string> = lastId === null ? {} : { "last-event-id": lastId };
      const response = await api.call(`api/processes/${id}/events`, { headers, cache: "no-store", signal });
      if (response.status === 204) return true;
      let eventId: string | null = null;
      for await (const line of response.body ? readLines(response.body) : []) {
        if (stopped.signal.aborted) return true;
        if (line.startsWith("id: ")) eventId = line.slice("id: ".length);
        if (!line.startsWith("data: ")) continue;
        backoff.reset();
        const event = JSON.parse(line.slice("data: ".length)) as ProcessEvent;
        if (event.type === "output") await handlers.write(event.data);
        else if (event.type === "dropped") await handlers.dropped(event.bytes);
        else return (handlers.ended(event.process), true);
        lastId = eventId;
      }
    } catch (error) {
      if (stopped.signal.aborted) return true;
      if (!(error instanceof ApiError && error.status === 404)) return false;
      handlers.gone();
      return true;
    }
    return false;
  }
}
