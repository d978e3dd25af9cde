// Everything that runs in a sandbox, as people see it: the part of the daemon's API (daemon.ts) below /programs. Plain types, no imports.

// GET /programs               ProgramList
// POST /programs/{id}/stop    ends a program and its group: it may end by itself, and is killed after two seconds. 202 at once; 404 if it
//                             does not run. The agent and a language server start again when a person uses them
export interface ProgramList {
  // The programs that run, oldest first in each kind, and then the processes that ended lately.
  programs: Program[];
  // When the list was made. The use of the processor is the difference of `cpuMs` between two lists, divided by that of their times.
  at: string;
}

export interface Program {
  // The id of the process or of the terminal; otherwise a name that is valid while it runs.
  id: string;
  kind:
    | "process" // of the API (processes.ts)
    | "command" // of POST /exec, or of the source control
    | "terminal" // also the setup, which runs in a terminal
    | "agent"
    | "language" // a language server
    | "listener"; // started by one of the others, with a group of its own that listens on a port, such as a server in a terminal
  // For people: a name or a command line, without control characters, at most 200 characters long.
  title: string;
  // The program that has started a listener; null if that has ended, and for others.
  parentId: string | null;
  pid: number;
  startedAt: string;
  // Of all its processes, without those of its listeners. Milliseconds of processor time since the start, with children that have ended;
  // memory that is in use, where memory that several processes share counts for each. null if unknown, and after the end.
  cpuMs: number | null;
  memoryBytes: number | null;
  // The ports on which it listens.
  ports: number[];
  // null while it runs. Only processes of the API stay in the list.
  end: ProgramEnd | null;
}

export interface ProgramEnd {
  // See Process.
  status: "exited" | "lost";
  exitCode: number | null;
  signal: string | null;
  timedOut: boolean;
  at: string;
}
