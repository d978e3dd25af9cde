// Programs that go on without their caller: the part of the daemon's API (daemon.ts) below /processes. A process belongs to the session.
// It lives on when the caller disconnects, and through a pause. Plain types, no imports.

// {id} is the id of a process or, while it runs, its number or `~name`.
// POST /processes                    StartProcess -> 201 Process or, with `Accept: text/event-stream`, its events, with a `start` first; 400 if it cannot be started; 409 `too_many` above 128 running ones;
//                                    503 `busy` at the limit of processes
// GET /processes                     {processes: Process[]}: those that run and those that ended lately, oldest first
// GET /processes/{id}                Process
// GET /processes/{id}/output         bytes of its output, see OUTPUT_HEADERS. `stream=stdout|stderr` chooses one stream; otherwise both are
//                                    interleaved. `offset=N` begins at that byte of the stream
// GET /processes/{id}/events         server-sent events (ProcessEvent), from the oldest output that is kept until the end of the process.
//                                    `Last-Event-ID` continues after that event. `encoding=base64` for output that is not text. 204 if
//                                    the process has ended and the client has all of it
// POST /processes/{id}/stdin         writes the body to its input; 204 when the program has taken it
// POST /processes/{id}/stdin/close   ends its input
// POST /processes/{id}/resize        {cols, rows}, for a process with a pseudo-terminal
// POST /processes/{id}/signal        {signal}, such as "SIGINT", for the process and all that it has started
// POST /processes/{id}/wait          Process when it has ended, or after `timeoutMs=` (default 30,000, at most 600,000)
// DELETE /processes/{id}             ends it, if it runs, and forgets it
export interface StartProcess {
  // Run by `sh -c`. Either this or `args`.
  command?: string;
  // Executed without a shell.
  args?: string[];
  cwd?: string;
  env?: Record<string, string>;
  // With a pseudo-terminal, which has only one stream of output (stdout).
  pty?: { cols: number; rows: number };
  // Whether its input stays open for POST …/stdin. Always with `pty`.
  stdin?: boolean;
  // The process is killed after this time. A pause does not count.
  timeoutMs?: number;
  name?: string;
}

export interface Process {
  id: string;
  name: string | null;
  command: string | string[];
  cwd: string;
  pty: boolean;
  pid: number;
  // `lost`: the sandbox was stopped while it ran, so its end is not known.
  status: "running" | "exited" | "lost";
  // null while it runs, if a signal has ended it, and if it is lost.
  exitCode: number | null;
  signal: string | null;
  timedOut: boolean;
  startedAt: string;
  endedAt: string | null;
  // The bytes of its output so far, and how many of the oldest are no longer kept.
  outputBytes: number;
  droppedBytes: number;
}

export const OUTPUT_HEADERS = {
  // The offset of the first byte of the body. More than the requested one if bytes were dropped.
  offset: "x-output-offset",
  // Where the next request continues.
  next: "x-output-next",
  // The bytes of the stream that are no longer kept.
  dropped: "x-output-dropped",
} as const;

export type ProcessStream = "stdout" | "stderr";

// The `data:` of a server-sent event.
export type ProcessEvent =
  // The first one if the request has started the process.
  | { type: "start"; process: Process }
  | { type: "output"; stream: ProcessStream; data: string }
  // This many bytes were dropped before the client has read them.
  | { type: "dropped"; bytes: number }
  // The last one.
  | { type: "end"; process: Process };
