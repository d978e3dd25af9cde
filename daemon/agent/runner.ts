import type { AgentState } from "@berth/contract/daemon.ts";
import type { Environment } from "../processes/environment.ts";
import { agentEnvironment, chooseAgent, restingState } from "./availability.ts";
import { Fault } from "../http/http.ts";
import { type AgentConnection, type AgentHandlers, AgentStartError, connectAgent } from "./connection.ts";

// Keeps the agent's program running: starts it when asked, starts it again with growing pauses when it dies, gives up
// when it dies at once again and again.
export interface Runner {
  readonly state: AgentState;
  // The connection, started if need be. Throws a Fault that says why there is none.
  connect(): Promise<AgentConnection>;
  stop(): void;
  // The agent refuses to work without being signed in.
  markUnconfigured(message: string): void;
}

export interface RunnerDeps {
  environment: Environment;
  cwd: string;
  handlers: AgentHandlers;
  changed: (state: AgentState) => void;
  // The program has ended by itself; conversations under way are over.
  died: (reason: string) => void;
}

// The slowest agents that we know need 6 seconds on a quiet machine.
const START_TIMEOUT_MS = Number(process.env.BERTH_AGENT_TIMEOUT_MS ?? 60_000);
const PAUSES_MS = [200, 1000, 3000, 10_000];
// A run at least this long counts as a good one.
const GOOD_RUN_MS = 30_000;

export function createRunner({ environment, cwd, handlers, changed, died }: RunnerDeps): Runner {
  let state = restingState(environment);
  let current: Promise<AgentConnection> | null = null;
  let live: AgentConnection | null = null;
  let failures = 0;
  let restart: NodeJS.Timeout | null = null;
  // Goes up with every stop, so that what belongs to an earlier run changes nothing.
  let generation = 0;

  return {
    get state() {
      return state;
    },
    connect() {
      failures = state.status === "failed" ? 0 : failures;
      return connect();
    },
    stop() {
      generation++;
      if (restart) clearTimeout(restart);
      restart = null;
      live?.kill();
      live = null;
      current = null;
      setState(restingState(environment));
    },
    markUnconfigured(message) {
      this.stop();
      setState({ ...state, status: "unconfigured", missing: [], message });
    },
  };

  function connect(): Promise<AgentConnection> {
    if (current) return current;
    const resting = restingState(environment);
    if (resting.status !== "stopped") {
      setState(resting);
      return Promise.reject(refusal(resting));
    }
    if (restart) clearTimeout(restart);
    restart = null;
    current = start(generation);
    current.catch(() => {});
    return current;
  }

  async function start(run: number): Promise<AgentConnection> {
    const program = chooseAgent(environment);
    const resting = restingState(environment);
    if (!program) throw refusal(resting);
    setState({ status: "starting", name: resting.name });
    try {
      const connection = await connectAgent({
        command: program.command,
        args: program.args,
        env: agentEnvironment(environment, program),
        cwd,
        timeoutMs: START_TIMEOUT_MS,
        handlers,
      });
      if (run !== generation) {
        connection.kill();
        throw new Fault(409, "agent_stopped", "The agent was stopped");
      }
      live = connection;
      setState({ status: "ready", name: connection.about.agentInfo?.title ?? connection.about.agentInfo?.name ?? state.name });
      void connection.ended.then(
        ({ code, signal }) => run === generation && onDeath(connection, code === null ? String(signal) : `code ${code}`),
      );
      return connection;
    } catch (error) {
      if (run !== generation) throw error;
      current = null;
      throw onFailedStart(error);
    }
  }

  function onDeath(connection: AgentConnection, how: string): void {
    live = null;
    current = null;
    failures = Date.now() - connection.startedAtMs > GOOD_RUN_MS ? 0 : failures;
    died(`The agent stopped unexpectedly (${how}).`);
    retryOrGiveUp(`The agent stops again and again (${how}).`);
  }

  function onFailedStart(error: unknown): Fault {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof AgentStartError && error.hopeless) setState({ status: "failed", name: state.name, message });
    else retryOrGiveUp(message);
    return new Fault(502, "agent_failed", message);
  }

  function retryOrGiveUp(message: string): void {
    const pause = PAUSES_MS[failures++];
    if (pause === undefined) return setState({ status: "failed", name: state.name, message });
    setState({ status: "starting", name: state.name });
    restart = setTimeout(() => void connect().catch(() => {}), pause);
  }

  function setState(next: AgentState): void {
    state = next;
    changed(state);
  }
}

function refusal({ status, missing, message }: AgentState): Fault {
  if (status === "unavailable") return new Fault(409, "agent_unavailable", message ?? "This sandbox has no program for its agent");
  if (status === "unconfigured") return new Fault(409, "agent_unconfigured", message ?? `The agent needs ${missing?.join(", ")}`);
  return new Fault(409, "agent_none", "This session has no agent");
}
