import { setTimeout as delay } from "node:timers/promises";
import { type ListedProcess, listProcesses, readEnvironment } from "../programs/system/process-table.ts";

// The processes that the agent has started since a turn began.
export interface TurnProcesses {
  // Remembers those that run now. After the agent has ended their parents, some could no longer be found.
  note(): void;
  // Ends them. Returns when none is left, or after a few seconds.
  end(): Promise<void>;
}

export interface TurnProcessesOptions {
  agentPid: number;
  // A variable with a value that only this run of the agent has. Everything that it starts inherits it.
  mark: string;
  // The agent's session of this turn.
  sessionId: string;
  // Whether another turn of this agent was in progress during this one.
  isShared: () => boolean;
}

const TERM_GRACE_MS = 1000;
const KILL_GRACE_MS = 3000;
const INTERVAL_MS = 50;

// Commands leave their group and session, and lose their parent, so only the inherited mark finds all of them. Processes of earlier
// turns have the mark too, and a person wants to keep them: they, and what they start, are those that run when this turn begins.
export function watchTurnProcesses({ agentPid, mark, sessionId, isShared }: TurnProcessesOptions): TurnProcesses {
  const noted = new Set<string>();
  const agent = listProcesses().find(({ pid }) => pid === agentPid);
  const earlier = new Set(marked(listProcesses()).map(idOf));

  return {
    note() {
      for (const each of find()) noted.add(idOf(each));
    },
    async end() {
      const beganMs = performance.now();
      const asked = new Set<string>();
      for (let started = find(); started.length > 0; started = find()) {
        const waitedMs = performance.now() - beganMs;
        if (waitedMs > KILL_GRACE_MS) return console.error(`${started.length} processes of a stopped turn do not end`);
        for (const each of started) {
          if (waitedMs > TERM_GRACE_MS) signal(each.pid, "SIGKILL");
          else if (!asked.has(idOf(each))) signal(each.pid, "SIGTERM");
          asked.add(idOf(each));
        }
        await delay(INTERVAL_MS);
      }
    },
  };

  function find(): ListedProcess[] {
    const all = listProcesses();
    const kept = all.filter((each) => earlier.has(idOf(each)));
    const byPid = new Map(all.map((each) => [each.pid, each]));
    return marked(all).filter((each) => !earlier.has(idOf(each)) && !belongsTo(each, kept, byPid) && isOfThisTurn(each));
  }

  // Everything with the mark, and the children of the agent, which may have cleared their environment.
  function marked(all: ListedProcess[]): ListedProcess[] {
    const byPid = new Map(all.map((each) => [each.pid, each]));
    return all.filter(
      (each) =>
        each.pid !== agentPid &&
        (noted.has(idOf(each)) || ancestors(each, byPid).includes(agentPid) || readEnvironment(each.pid).includes(mark)),
    );
  }

  // Whether a process of an earlier turn has started this one.
  function belongsTo(each: ListedProcess, kept: ListedProcess[], byPid: Map<number, ListedProcess>): boolean {
    const parents = ancestors(each, byPid);
    return kept.some(
      ({ pid, group, session }) =>
        parents.includes(pid) ||
        (group === each.group && group !== agent?.group) ||
        (session === each.session && session !== agent?.session),
    );
  }

  // Some agents name their session in the environment of commands. Of two turns at once, nothing else tells which one started it.
  function isOfThisTurn({ pid }: ListedProcess): boolean {
    return !isShared() || readEnvironment(pid).includes(`=${sessionId}\0`);
  }
}

const idOf = ({ pid, startedAt }: ListedProcess) => `${pid} ${startedAt}`;

function ancestors({ parent }: ListedProcess, byPid: Map<number, ListedProcess>): number[] {
  const found: number[] = [];
  for (let pid = parent; pid > 1 && !found.includes(pid); pid = byPid.get(pid)?.parent ?? 0) found.push(pid);
  return found;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended in the meantime.
  }
}
