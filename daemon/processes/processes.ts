import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { AppError } from "@berth/contract/errors.ts";
import type { OutboxEntry } from "@berth/contract/daemon-internal.ts";
import type { Process } from "@berth/contract/daemon/processes.ts";
import type { WorkspaceFolder } from "../files/workspace-folder.ts";
import type { Pauses } from "../http/pauses.ts";
import type { Environment } from "../programs/environment.ts";
import type { StartedProgram } from "../program-list/started-program.ts";
import type { Outbox } from "./outbox.ts";
import type { WantedProgram } from "../programs/parse-program.ts";
import { type LiveProcess, restoreProcess, startProcess } from "./process.ts";
import { openSavedProcesses } from "./saved-processes.ts";

export interface WantedProcess extends WantedProgram {
  pty: { cols: number; rows: number } | null;
  hasStdin: boolean;
  name: string | null;
}

// The processes of the session: those that run, and those that ended lately.
export interface Processes {
  // The working directory is a path of `base`.
  start(wanted: WantedProcess, base: Pick<WorkspaceFolder, "folderPath">): Promise<LiveProcess>;
  list(): Process[];
  // By its id or, if it runs, by its number or `~name`; the latest one of that name.
  find(id: string): LiveProcess | undefined;
  // Ends it, if it runs, and forgets it.
  remove(process: LiveProcess): void;
  // The sandbox is about to stop: nothing that runs now comes back.
  stop(): void;
  // Loads the processes from before the sandbox was stopped.
  load(): void;
  countRunning(): number;
  programs(): StartedProgram[];
}

export interface ProcessesDeps {
  environment: Environment;
  pauses: Pick<Pauses, "isUnderWay">;
  outbox: Pick<Outbox, "add" | "list" | "onRemove">;
  folder: string;
}

const MAX_RUNNING = 128;
const MAX_ENDED = 100;
const FORGET_AFTER_MS = 3600 * 1000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

export function createProcesses({ environment, pauses, outbox, folder }: ProcessesDeps): Processes {
  const processes = new Map<string, LiveProcess>();
  const saved = openSavedProcesses(join(folder, "processes"));
  let starting = 0;
  // Until then the outbox knows how it ended, so the end itself writes one file and not two.
  outbox.onRemove((entries) => {
    for (const { data } of entries) {
      // The user can write to the outbox's file.
      const process = processes.get(String(data?.["id"]));
      if (process && !process.running) save(process);
    }
  });

  return {
    async start({ words, command, cwd, env, pty, hasStdin, timeoutMs, name }, base) {
      const folderPath = await base.folderPath(cwd);
      if (pauses.isUnderWay) throw new AppError("session_paused");
      if (running().length + starting >= MAX_RUNNING)
        throw new AppError("too_many", { message: `There are already ${MAX_RUNNING} processes; end one first` });
      starting++;
      try {
        const process = await startProcess({
          head: { id: `proc_${randomBytes(8).toString("hex")}`, name, command, cwd: folderPath },
          words,
          cwd: folderPath,
          env: environment.forChild(env),
          pty,
          hasInput: hasStdin,
          timeoutMs,
          onOutput: shrink,
          onEnd: record,
        });
        processes.set(process.id, process);
        save(process);
        return process;
      } finally {
        starting--;
      }
    },
    list() {
      forgetOld();
      return [...processes.values()].map((process) => process.describe());
    },
    find(id) {
      if (/^\d+$/.test(id)) return running().find((process) => process.describe().pid === Number(id));
      return id.startsWith("~") ? running().findLast((process) => process.describe().name === id.slice(1)) : processes.get(id);
    },
    remove(process) {
      forget(process.id);
      process.running?.stop();
    },
    stop() {
      for (const process of running()) {
        process.running?.stop();
        process.lose();
      }
    },
    countRunning: () => running().length + starting,
    programs: () =>
      running().map((process) => {
        const { id, name, command, pid } = process.describe();
        return { id, kind: "process", title: name || command, pid, stop: () => process.running?.stop() };
      }),
    load() {
      for (const head of saved.load().toSorted((a, b) => (a.startedAt < b.startedAt ? -1 : 1))) {
        const known = head.status === "running" ? reportedEnd(head, outbox.list()) : head;
        const process = restoreProcess(known ?? { ...head, status: "lost", endedAt: new Date().toISOString() });
        processes.set(process.id, process);
        if (!known) record(process);
      }
      forgetOld();
    },
  };

  function running(): LiveProcess[] {
    return [...processes.values()].filter((process) => process.running);
  }

  function save(process: LiveProcess): void {
    try {
      saved.save(process.id, process.describe());
    } catch (error) {
      // On a full disk a process is not remembered over a restart, but it runs.
      console.error("A process could not be saved:", error);
    }
  }

  function record(process: LiveProcess): void {
    const { id, name, status, exitCode, signal, timedOut, startedAt, endedAt } = process.describe();
    const data = { id, name, status, exitCode, signal, timedOut, startedAt, endedAt };
    outbox.add({ id: entryIdOf(id), type: "process.exited", data });
    forgetOld();
  }

  function forgetOld(): void {
    const ended = [...processes.values()].filter((process) => !process.running);
    const limit = new Date(Date.now() - FORGET_AFTER_MS).toISOString();
    ended.forEach(({ id, endedAt }, at) => {
      if (at < ended.length - MAX_ENDED || (endedAt ?? "") < limit) forget(id);
    });
  }

  function forget(id: string): void {
    processes.get(id)?.log.clear();
    processes.delete(id);
    saved.remove(id);
  }

  // Takes memory from the process that has the most.
  function shrink(): void {
    const logs = [...processes.values()].map(({ log }) => log);
    let total = logs.reduce((sum, log) => sum + log.size, 0);
    while (total > MAX_OUTPUT_BYTES) {
      const largest = logs.reduce((a, b) => (b.size > a.size ? b : a));
      total -= largest.size;
      largest.drop();
      total += largest.size;
    }
  }
}

// The same for every report of this end, so that the server records it once.
const entryIdOf = (id: string): string => id.slice("proc_".length).padEnd(24, "0");

// How a process ended that was saved only while it ran: the outbox has its end until the server has recorded it. null if it has none.
function reportedEnd(process: Process, entries: readonly OutboxEntry[]): Process | null {
  const data = entries.find(({ id }) => id === entryIdOf(process.id))?.data as Partial<Process> | undefined;
  if (!data || (data.status !== "exited" && data.status !== "lost") || typeof data.endedAt !== "string") return null;
  const { status, exitCode = null, signal = null, timedOut = false, endedAt } = data;
  return { ...process, status, exitCode, signal, timedOut, endedAt };
}
