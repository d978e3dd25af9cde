import type { AgentState } from "@berth/contract/daemon.ts";
import { AppError } from "@berth/contract/errors.ts";
import type { Environment } from "../../programs/environment.ts";
import { agentEnvironment, chooseAgent, restingState, unavailableError } from "./availability.ts";
import { type AgentConnection, type AgentHandlers, AgentStartError, connectAgent, messageOf } from "./connection.ts";
import type { ModelForwarder } from "../model/model-forwarder.ts";
import type { Terminals } from "../../terminals/terminals.ts";
import { notFound } from "../../http/errors.ts";
import { signInsOf, type TerminalSignIn } from "./sign-in.ts";
import { keepOpencodeOffline } from "./opencode-packages.ts";

// Keeps the agent's process running. When the process dies, the runner restarts it with growing pauses, and gives up after
// several short runs in a row.
export interface Runner {
  readonly state: AgentState;
  // Starts the process if needed. Throws an AppError that says why there is no connection.
  connect(): Promise<AgentConnection>;
  stop(): void;
  // Stops an agent that requires a sign-in.
  markUnconfigured(message: string): void;
  // Opens a terminal in which a person signs in. When that has succeeded, the agent starts again. Returns the id of the terminal.
  signIn(methodId: string): Promise<string>;
}

export interface RunnerDeps {
  environment: Environment;
  cwd: string;
  handlers: AgentHandlers;
  model: Pick<ModelForwarder, "redirect" | "hideAddresses">;
  runInTerminal: Terminals["run"];
  onStateChange: (state: AgentState) => void;
  // The process has exited on its own, which ends the turns in progress.
  onDeath: (reason: string) => void;
}

// The slowest known agents need 6 seconds on an idle machine.
const START_TIMEOUT_MS = Number(process.env.BERTH_AGENT_TIMEOUT_MS ?? 60_000);
const PAUSES_MS = [200, 1000, 3000, 10_000];
// A run of at least this length resets the count of failures.
const GOOD_RUN_MS = 30_000;

export function createRunner({ environment, cwd, handlers, model, runInTerminal, onStateChange, onDeath }: RunnerDeps): Runner {
  let state = restingState(environment);
  let current: Promise<AgentConnection> | null = null;
  let live: AgentConnection | null = null;
  let failures = 0;
  // How a person can sign in, and the terminal in which that happens.
  let offered: TerminalSignIn[] = [];
  let signingIn: ReturnType<Terminals["run"]> | null = null;
  let restart: NodeJS.Timeout | null = null;
  // Incremented by every stop. Results with an older generation are ignored.
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
      const program = chooseAgent(environment);
      const { terminals, variables } = live && program ? signInsOf(live.about, program) : { terminals: [], variables: [] };
      this.stop();
      offered = terminals;
      const signIn = terminals.map(({ id, name, description }) => ({ id, name, ...(description === undefined ? {} : { description }) }));
      const hint = variables.length > 0 ? `; or set ${variables.join(", ")} for this session` : "";
      setState({ ...state, status: "unconfigured", missing: variables, message: message + hint, ...(signIn.length > 0 ? { signIn } : {}) });
    },
    async signIn(methodId) {
      const method = offered.find(({ id }) => id === methodId);
      const program = chooseAgent(environment);
      if (state.status !== "unconfigured" || !method || !program) throw notFound("The agent does not ask for this sign-in");
      if (signingIn) return (await signingIn).id;
      const { name, command, args, env } = method;
      signingIn = runInTerminal({ title: name, command: [command, ...args], env: { ...agentEnvironment(environment, program), ...env } });
      const { id, ended } = await signingIn.catch((error: unknown) => {
        signingIn = null;
        throw error;
      });
      void ended.then((code) => {
        signingIn = null;
        if (state.status !== "unconfigured") return;
        if (code === 0) void connect().catch(() => {});
        else setState({ ...state, message: "The sign-in did not succeed. Try again." });
      });
      return id;
    },
  };

  function connect(): Promise<AgentConnection> {
    if (current) return current;
    const resting = restingState(environment);
    const unavailable = unavailableError(resting);
    if (unavailable) {
      setState(resting);
      return Promise.reject(unavailable);
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
    if (!program) throw unavailableError(resting) ?? new AppError("agent_none");
    setState({ status: "starting", name: resting.name });
    try {
      const env = await model.redirect(agentEnvironment(environment, program));
      keepOpencodeOffline(program.command, env);
      const connection = await connectAgent({
        command: program.command,
        args: program.args,
        env,
        cwd,
        timeoutMs: START_TIMEOUT_MS,
        handlers,
      });
      if (run !== generation) {
        connection.kill();
        throw new AppError("agent_stopped");
      }
      live = connection;
      const { agentInfo, agentCapabilities } = connection.about;
      setState({
        status: "ready",
        name: agentInfo?.title ?? agentInfo?.name ?? state.name,
        acceptsImages: agentCapabilities?.promptCapabilities?.image ?? false,
      });
      void connection.ended.then(
        ({ code, signal }) => run === generation && handleDeath(connection, code === null ? String(signal) : `code ${code}`),
      );
      return connection;
    } catch (error) {
      if (run !== generation) throw error;
      current = null;
      throw handleFailedStart(error);
    }
  }

  function handleDeath(connection: AgentConnection, how: string): void {
    live = null;
    current = null;
    failures = Date.now() - connection.startedAtMs > GOOD_RUN_MS ? 0 : failures;
    onDeath(`The agent stopped unexpectedly (${how}).`);
    retryOrGiveUp(`The agent keeps stopping (${how}).`);
  }

  function handleFailedStart(error: unknown): AppError {
    const message = messageOf(error);
    if (error instanceof AgentStartError && !error.retryable) setState({ status: "failed", name: state.name, message });
    else retryOrGiveUp(message);
    return new AppError("agent_failed", { message });
  }

  function retryOrGiveUp(message: string): void {
    const pause = PAUSES_MS[failures++];
    if (pause === undefined) return setState({ status: "failed", name: state.name, message });
    setState({ status: "starting", name: state.name });
    restart = setTimeout(() => void connect().catch(() => {}), pause);
  }

  function setState({ message, ...rest }: AgentState): void {
    state = { ...rest, ...(message === undefined ? {} : { message: model.hideAddresses(message) }) };
    onStateChange(state);
  }
}
