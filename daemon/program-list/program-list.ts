import type { Process } from "@berth/contract/daemon/processes.ts";
import type { Program, ProgramList } from "@berth/contract/daemon/programs.ts";
import { notFound } from "../http/errors.ts";
import { sendJson } from "../http/reply.ts";
import type { Route } from "../http/route.ts";
import { readText } from "../io/read-or-empty.ts";
import type { OwnedPort } from "../ports/port-monitor.ts";
import { readCommand } from "../programs/system/program-name.ts";
import { type ListedProcess, listProcesses, TICK_MS } from "../programs/system/process-table.ts";
import type { StartedProgram } from "./started-program.ts";
import { stopGroup } from "../programs/system/process-group.ts";
import { titleOf } from "./title.ts";

export interface ProgramListDeps {
  // If several have the same pid, the first one counts.
  started: () => StartedProgram[];
  // The processes of the API, of which those that have ended are listed too.
  processes: () => Process[];
  ports: () => Promise<OwnedPort[]>;
}

interface Row {
  program: Program;
  stop(): void;
}

// Lists what runs in the sandbox, with what it uses. /proc is read once for each list, and not at all if no one asks for it.
export function programRoutes(deps: ProgramListDeps): Route[] {
  return [
    {
      method: "GET",
      path: "/programs",
      async handle({ response }) {
        const running = (await readRows(deps)).map(({ program }) => program);
        const programs = [...running, ...deps.processes().flatMap(endedProgram)];
        sendJson(response, 200, { programs, at: new Date().toISOString() } satisfies ProgramList);
      },
    },
    {
      method: "POST",
      path: "/programs/:id/stop",
      async handle({ params, response }) {
        const row = (await readRows(deps)).find(({ program }) => program.id === params.id);
        if (!row) throw notFound("There is no such program. It may have ended");
        row.stop();
        response.writeHead(202).end();
      },
    },
  ];
}

async function readRows({ started, ports }: ProgramListDeps): Promise<Row[]> {
  const owned = await ports();
  const table = new Map(listProcesses().map((process) => [process.pid, process]));
  const bootedAtMs = Date.now() - Number(readText("/proc/uptime").split(" ")[0]) * 1000;
  const programs = new Map<number, Row>();
  for (const program of started()) if (!programs.has(program.pid)) programs.set(program.pid, rowOf(program, table.get(program.pid)));
  const listeners = new Map<number, Row>();
  const daemonGroup = table.get(process.pid)?.group;

  for (const { port, pid, program } of owned) {
    const listening = table.get(pid);
    // Process 1 and the daemon are not for people to stop.
    if (!listening || listening.group === daemonGroup || listening.group <= 1) continue;
    const { group } = listening;
    if (!programs.has(group) && !listeners.has(group)) listeners.set(group, listenerOf(listening, program));
    (programs.get(group) ?? listeners.get(group))?.program.ports.push(port);
  }
  for (const listed of table.values()) {
    const program = ownerOf(listed, listeners);
    if (!program) continue;
    program.cpuMs = (program.cpuMs ?? 0) + listed.cpuMs;
    program.memoryBytes = (program.memoryBytes ?? 0) + listed.memoryBytes;
  }
  return [...programs.values(), ...listeners.values()];

  function rowOf({ id, kind, title, pid, stop }: StartedProgram, listed: ListedProcess | undefined): Row {
    // Some containers see an uptime of their own.
    const startedAtMs = Math.min(Date.now(), listed ? bootedAtMs + Number(listed.startedAt) * TICK_MS : Infinity);
    const startedAt = new Date(startedAtMs).toISOString();
    const own = { id: id ?? `pid_${pid}_${listed?.startedAt ?? ""}`, kind, title: titleOf(title), pid, startedAt };
    return { program: { ...own, parentId: null, cpuMs: null, memoryBytes: null, ports: [], end: null }, stop };
  }

  // A shell gives each of its commands a group. The process that leads it has the command that a person has typed.
  function listenerOf(listening: ListedProcess, name: string | null): Row {
    const { group } = listening;
    const leader = table.get(group) ?? listening;
    const title = titleOf(readCommand(leader.pid)) || titleOf(name ?? "") || "Unknown program";
    const row = rowOf({ kind: "listener", title, pid: leader.pid, stop: () => stopGroup(group) }, leader);
    row.program.parentId = ownerOf(listening, new Map())?.id ?? null;
    return row;
  }

  // The program to which a process belongs: by its group or its session or, if it has left them, by its parents.
  function ownerOf(listed: ListedProcess, byGroup: Map<number, Row>): Program | null {
    const seen = new Set<number>();
    for (let each: ListedProcess | undefined = listed; each && !seen.has(each.pid); each = table.get(each.parent)) {
      const row = byGroup.get(each.group) ?? programs.get(each.session);
      if (row) return row.program;
      seen.add(each.pid);
    }
    return null;
  }
}

function endedProgram({ id, name, command, pid, startedAt, status, exitCode, signal, timedOut, endedAt }: Process): Program[] {
  if (status === "running") return [];
  const end = { status, exitCode, signal, timedOut, at: endedAt ?? startedAt };
  const own = { id, kind: "process", title: titleOf(name || command), pid, startedAt, end } as const;
  return [{ ...own, parentId: null, cpuMs: null, memoryBytes: null, ports: [] }];
}
