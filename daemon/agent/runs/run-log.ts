import { randomBytes } from "node:crypto";
import type { Run, RunEvent } from "@berth/contract/daemon/runs.ts";
import type { EventSource, NumberedEvent } from "../../http/send-events.ts";

// The latest events of a run, for clients that were disconnected.
export interface RunLog {
  add(event: RunEvent): void;
  // The event that ends the stream.
  end(run: Run): void;
  // The events after the one with this id, or everything from the start. null if the client has the last one.
  read(lastId: string | undefined, whole: () => Whole): EventSource | null;
}

// A run as it is now.
export interface Whole {
  items: RunEvent & { type: "items" };
  run: Run;
}

const MAX_CHARACTERS = 1024 * 1024;
const END_ID = "end";
// Tells the ids of this daemon from those of an earlier one.
const START = randomBytes(6).toString("hex");
const ID = new RegExp(`^${START}\\.(\\d{1,15})$`);

export function createRunLog(): RunLog {
  // The first one has the number `first`.
  const entries: string[] = [];
  let first = 1;
  let size = 0;
  let end: string | null = null;
  const listeners = new Set<() => void>();

  const last = () => first + entries.length - 1;
  const tell = () => listeners.forEach((listener) => listener());

  return {
    add(event) {
      const data = JSON.stringify(event);
      entries.push(data);
      size += data.length;
      while (size > MAX_CHARACTERS && entries.length > 0) {
        size -= entries.shift()?.length ?? 0;
        first++;
      }
      tell();
    },
    end(run) {
      end = JSON.stringify({ type: "end", run } satisfies RunEvent);
      tell();
    },
    read(lastId, whole) {
      if (lastId === END_ID && end !== null) return null;
      // The number of the last event that the client has.
      let position = Number(ID.exec(lastId ?? "")?.[1] ?? -1);
      let next: NumberedEvent[] = [];
      let isOver = false;
      const numbered = (data: string): NumberedEvent => ({ id: `${START}.${position}`, data });
      return {
        onNews(listener) {
          listeners.add(listener);
          return { [Symbol.dispose]: () => void listeners.delete(listener) };
        },
        next() {
          const prepared = next.shift();
          if (prepared) return prepared;
          if (isOver) return "over";
          if (position < first - 1 || position > last()) {
            position = last();
            const { items, run } = whole();
            // After the first of these alone, a client continues with both.
            if (end === null) next = [numbered(JSON.stringify({ type: "run", run } satisfies RunEvent))];
            return { id: null, data: JSON.stringify(items) };
          }
          const data = entries[position + 1 - first];
          if (data !== undefined) {
            position++;
            return numbered(data);
          }
          if (end === null) return null;
          isOver = true;
          return { id: END_ID, data: end };
        },
      };
    },
  };
}
