import { askUntil, follow } from "../http/follow.ts";
import { readJson, type Transport } from "../http/transport.ts";
import type { ProcessData, ProcessEvent, ProcessOptions } from "../types/sandbox-types.ts";

// Programs that go on without their caller.
export interface Processes {
  // A string is run by `sh -c`; an array is executed without a shell.
  start(command: string | string[], options?: ProcessOptions): Promise<Process>;
  get(id: string): Promise<Process>;
  list(): Promise<ProcessData[]>;
}

export interface Process {
  readonly id: string;
  // As it was when this object was made.
  readonly data: ProcessData;
  refresh(): Promise<ProcessData>;
  // Yields the output that is kept, and what follows until the end. A lost connection is opened again, and nothing is repeated.
  follow(options?: { signal?: AbortSignal }): AsyncGenerator<ProcessEvent>;
  // The output that is kept, from a byte on. `next` is the offset for the next call.
  read(options?: { stream?: "stdout" | "stderr"; offset?: number }): Promise<{ text: string; next: number; droppedBytes: number }>;
  // Resolves when the process has ended, however long that takes. Half a minute of a pause or without a server is not an error.
  wait(options?: { signal?: AbortSignal }): Promise<ProcessData>;
  write(input: string | Uint8Array): Promise<void>;
  closeInput(): Promise<void>;
  resize(size: { cols: number; rows: number }): Promise<void>;
  signal(signal: string): Promise<void>;
  // Ends it, if it runs, and forgets it.
  remove(): Promise<void>;
}

const WAIT_MS = 30_000;

export function createProcesses(send: Transport, sandboxUrl: () => string): Processes {
  const url = (path = "") => `${sandboxUrl()}/processes${path}`;

  function handle(data: ProcessData): Process {
    const own = (path = "") => url(`/${data.id}${path}`);
    const post = async (path: string, content: { json?: unknown; body?: string | Uint8Array } = {}) =>
      void (await send({ method: "POST", url: own(path), ...content }));

    return {
      id: data.id,
      data,
      refresh: () => readJson(send({ method: "GET", url: own() })),
      follow: ({ signal } = {}) => follow(send, own("/events"), signal),
      async read({ stream, offset } = {}) {
        const response = await send({ method: "GET", url: own("/output"), query: { stream, offset } });
        const number = (name: string) => Number(response.headers.get(name));
        return { text: await response.text(), next: number("x-output-next"), droppedBytes: number("x-output-dropped") };
      },
      wait: ({ signal } = {}) =>
        askUntil(async () => {
          const call = { method: "POST", url: own("/wait"), query: { timeoutMs: WAIT_MS }, signal, repeatable: true } as const;
          const now = await readJson<ProcessData>(send(call));
          return now.status === "running" ? undefined : now;
        }, signal),
      write: (input) => post("/stdin", { body: input }),
      closeInput: () => post("/stdin/close"),
      resize: (size) => post("/resize", { json: size }),
      signal: (signal) => post("/signal", { json: { signal } }),
      async remove() {
        await send({ method: "DELETE", url: own() });
      },
    };
  }

  return {
    async start(command, options = {}) {
      const json = { ...(typeof command === "string" ? { command } : { args: command }), ...options };
      return handle(await readJson(send({ method: "POST", url: url(), json })));
    },
    get: async (id) => handle(await readJson(send({ method: "GET", url: url(`/${encodeURIComponent(id)}`) }))),
    list: async () => (await readJson<{ processes: ProcessData[] }>(send({ method: "GET", url: url() }))).processes,
  };
}
